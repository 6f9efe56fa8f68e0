"""Test ``sweep``: rows on this machine and as Slurm arrays, their states, and mistakes in one line each."""

import os
import subprocess
import sys

import pytest

from lit_video.__main__ import main
from lit_video.launching import queue
from lit_video.runs.folder import write_status
from lit_video.runs.record import Status
from lit_video.settings.flags import read_flags
from tests.command_line import parse_request
from tests.conftest import ROOT, write_table
from tests.fake_runs import write_result


def sweep(*args):
    return main(["sweep", *map(str, args)])


def error(capsys):
    """Return the line of an error; a slow machine shows progress, too."""
    (line,) = (line for line in capsys.readouterr().err.splitlines() if not line.startswith("checked runs"))
    assert line.startswith("error: ")
    return line


@pytest.fixture
def two_tables(tmp_path):
    (tmp_path / "more").mkdir()
    return write_table(tmp_path / "two.yaml"), write_table(tmp_path / "more/other.yaml")


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Fake Slurm commands: ``sbatch`` keeps scripts and options, ``squeue`` reports job 12 as pending."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr("lit_video.launching.states.SILENT", 3600.0)  # on a slow machine no run counts as lost
    (tmp_path / "bin").mkdir()
    for name, code in [
        ("sbatch", f'echo "$@" >> {tmp_path}/options; cat >> {tmp_path}/script; echo 12'),
        ("squeue", "for i in 0 1 2; do echo 12_$i\\|PENDING\\|Priority; done"),
    ]:
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{code}\n")
        program.chmod(0o755)
    return tmp_path


@pytest.fixture
def submitted(two_tables, tiny, slurm, capsys):
    """Table with one run at work elsewhere, whose other three runs are submitted: folder of the runs, and arguments."""
    runs = slurm / "my runs"
    running = runs / "two/default/second/seed0"
    running.mkdir(parents=True)
    write_status(running, Status("training", host="node7"))

    resources = ["--nodes=2", "--gpus-per-node=4", "--time=12:00:00", "--slurm=constraint=a100", "--jobs=3", "--cpus=5"]
    args = [two_tables[0], "--seeds=0,3", "--runs", runs, "--launcher=slurm", *resources, *tiny]
    assert sweep(*args) == 0
    said = capsys.readouterr().out
    assert "two second seed 0: " in said and "node7" in said
    assert "3 runs submitted as job 12" in said
    return runs, args


def test_an_array_has_the_resources_that_are_asked_for_and_a_task_for_each_run_that_is_left(submitted, tiny, slurm):
    options = set((slurm / "options").read_text().split())
    assert {"--array=0-2%3", "--requeue", "--signal=USR1@90", "--open-mode=append", "--constraint=a100"} < options
    assert {"--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4", "--time=12:00:00"} < options

    runs, _ = submitted
    script = (slurm / "script").read_text()
    executed = set()
    for task in range(3):
        words = words_of_task(script, task)
        options = words[: words.index(sys.executable)]
        assert options == ["--kill-on-bad-exit=1", "--cpus-per-task=5"]
        command = words[len(options) :]
        assert command[:4] == [sys.executable, "-m", "lit_video", "fit"]

        request = parse_request(command[4:])
        assert request.single and request.folder == runs
        assert request.user_settings == read_flags([*tiny, "--trainer.devices=4", "--trainer.num_nodes=2"])
        executed.add((request.rows[0].name, request.seeds[0]))

    assert executed == {("first", 0), ("first", 3), ("second", 3)}
    assert (runs / "two/default/second/seed3/log.txt").exists()


def words_of_task(script, task):
    """Return the words that a task of an array gives to srun, as bash expands them."""
    stub = "exec 3>&1\nsrun() { printf '%s\\n' \"$@\" >&3; }\n"
    command = ["env", f"SLURM_ARRAY_TASK_ID={task}", "bash", "-c", stub + script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_runs_in_slurm_s_queue_are_not_submitted_again_and_none_if_slurm_does_not_answer(submitted, slurm, capsys):
    _, args = submitted
    assert sweep(*args) == 0
    said = capsys.readouterr().out
    assert said.count("left alone") == 4 and "submitted" not in said
    assert sweep(*args, "--status") == 0
    assert "3 queued" in capsys.readouterr().out

    (slurm / "bin/squeue").write_text("#!/bin/sh\necho slurm is down >&2\nexit 1\n")
    (slurm / "options").unlink()
    for flags in ([], ["--status"]):
        assert sweep(*args, *flags) == 2
        assert "slurm is down" in error(capsys)
        assert not (slurm / "options").exists()


@pytest.mark.parametrize(("launcher", "shown"), [("local", "4 not started"), ("slurm", "--array=0-3")])
def test_a_dry_run_starts_nothing(launcher, shown, two_tables, tiny, slurm, capsys):
    runs = slurm / "runs"
    args = [two_tables[0], "--seeds=0,3", "--runs", runs, "--cpus=5", "--time=1:00:00"][
        : 6 if launcher == "slurm" else 4
    ]
    assert sweep(*args, f"--launcher={launcher}", "--dry-run", *tiny) == 0
    assert shown in capsys.readouterr().out
    assert not runs.exists() and not (slurm / "options").exists()


def test_rows_run_here_and_what_has_no_result_is_a_failure(table, tiny, tmp_path, capsys, monkeypatch):
    runs = tmp_path / "runs"

    def launch(command, environment, log):
        """Run the first row in this process; return a process that exits with its status, or with 1."""
        status = main(command[3:]) if "first" in command else 1
        return subprocess.Popen(["sh", "-c", f"exit {status}"])

    monkeypatch.setattr(queue, "launch", launch)
    args = [table[0], "--runs", runs, "--trainer.logger=false", *tiny, "--trainer.max_epochs=1"]
    assert sweep(*args, "--row=first") == 0
    assert "1 runs: 1 done" in capsys.readouterr().out
    assert sweep(*args) == 1
    printed = capsys.readouterr()
    assert "1 of 2 runs are finished, skipped" in printed.out
    assert "two second seed 0: FAILED: exit status 1" in printed.out
    assert "1 runs have no result" in printed.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nodes=2"], "--nodes: is for Slurm"),
        (["--launcher=slurm", "--reuse"], "--reuse: is for --launcher local"),
        (["--data.root", "DIR", "--", "-x"], "-x"),
    ],
)
def test_a_mistake_is_one_line(args, message, two_tables, tiny, tmp_path, capsys):
    assert sweep(two_tables[0], "--runs", tmp_path / "runs", *args) == 2
    assert message in error(capsys)
    assert not (tmp_path / "runs").exists()


def test_a_mistake_in_the_last_row_of_the_last_table_comes_before_anything_starts(two_tables, tiny, tmp_path, capsys):
    text = two_tables[1].read_text()
    two_tables[1].write_text(text.replace("model.window: 1", "model.widow: 1"))
    assert sweep(*two_tables, "--runs", tmp_path / "runs", *tiny) == 2
    line = error(capsys)
    assert "other.yaml: row second: model" in line and "widow" in line
    assert not list(tmp_path.glob("runs/**/log.txt"))


def test_tables_whose_runs_would_share_folders_are_refused(two_tables, tmp_path, capsys):
    twin = two_tables[1].rename(tmp_path / "more/two.yaml")
    assert sweep(two_tables[0], twin, "--runs", tmp_path / "runs") == 2
    assert f"{twin}: has the name of {two_tables[0]}" in error(capsys)


def test_status_shows_every_state_and_imports_no_torch(two_tables, tmp_path):
    runs = tmp_path / "runs"
    done = runs / "two/default/first/seed0"
    done.mkdir(parents=True)
    write_result(done, table="two", row="first", scale="default", seed=0, gmacs=1, metrics={}, test_videos=1)
    at_work = {"host": "node7", "clips_per_second": 31.4, "seconds_left": 3725.2, "data_wait": 12.4}
    for row, seed, state, changes in [
        ("second", 0, "training", at_work),
        ("first", 1, "failed", {"message": "train/loss is not finite [step 3]"}),
    ]:
        folder = runs / f"two/default/{row}/seed{seed}"
        folder.mkdir(parents=True)
        write_status(folder, Status(state, 120, 384, **changes))
    code = "import sys; from lit_video.__main__ import main; status = main(sys.argv[1:]); "
    code += "heavy = {'torch', 'lightning', 'pandas', 'wandb'} & sys.modules.keys(); sys.exit(status or len(heavy))"
    args = ["sweep", two_tables[0], "--seeds=0,1", "--runs", runs, "--status", "--trainer.max_epochs", "3"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.replace("│", " ").split()) for line in done.stdout.splitlines()]
    assert lines[3:6] == [
        "two first 0 done",
        "two second 0 running 120/384 31 % 31 12 % 62 min left training on node7",
        "two first 1 failed 120/384 31 % train/loss is not finite [step 3]",
    ]
    assert lines[-1] == "4 runs: 1 running, 1 failed, 1 done, 1 not started"


def test_a_table_by_several_processes_of_torchrun_is_refused(two_tables, tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RANK", "1")
    assert main(["fit", "--config", str(two_tables[0]), "--runs", str(tmp_path / "runs"), *tiny]) == 2
    assert "name it by --row" in error(capsys)
