import re
import shlex
import subprocess
import sys

import pytest

from lit_video.__main__ import main
from lit_video.commands.arguments import parse_request
from lit_video.launching import local
from lit_video.launching.states import Ticket, write_ticket
from lit_video.tables.status import Status, write_status
from tests.conftest import ROOT, write_table
from tests.fake_runs import write_result


def sweep(*args):
    return main(["sweep", *map(str, args)])


def error(capsys):
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.fixture
def two_tables(tmp_path):
    (tmp_path / "more").mkdir()
    return write_table(tmp_path / "two.yaml"), write_table(tmp_path / "more/other.yaml")


def finish(folder):
    folder.mkdir(parents=True, exist_ok=True)
    table, scale, row, seed = folder.parts[-4:]
    write_result(folder, table=table, row=row, scale=scale, seed=int(seed[4:]), gmacs=1, metrics={}, test_videos=1)


def test_the_printed_array_is_what_is_left_of_all_tables(two_tables, tiny, tmp_path, capsys):
    runs = tmp_path / "my runs"
    running = runs / "two/default/second/seed0"
    running.mkdir(parents=True)
    write_status(running, Status("training", host="node7"))
    asked = ["--nodes=2", "--gpus-per-node=4", "--time=12:00:00", "--slurm=constraint=a100", "--array-parallelism=3"]
    assert sweep(*two_tables, "--seeds=0,3", "--runs", runs, "--launcher=print", *asked, *tiny) == 0
    printed = capsys.readouterr()
    assert "two second seed 0: runs elsewhere, left alone (training on node7)" in printed.err
    options = re.findall(r"#SBATCH --(.*)", printed.out)
    assert {"array=0-6%3", "requeue", "signal=USR1@90", "open-mode=append", "constraint=a100"} < set(options)
    assert {"nodes=2", "ntasks-per-node=4", "gpus-per-node=4", "time=12:00:00"} < set(options)
    subprocess.run(["bash", "-n"], input=printed.out, text=True, check=True)
    # what a task of the array runs, as bash expands it
    stub = f"srun() {{ printf '%s\\n' \"$@\"; }}\n{printed.out}"
    done = set()
    for task in range(7):
        command = ["env", f"SLURM_ARRAY_TASK_ID={task}", "bash", "-c", stub]
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        assert words[:4] == [sys.executable, "-m", "lit_video", "fit"]
        request = parse_request(words[4:])
        assert request.single and request.runs == runs
        assert request.flags == [*tiny, "--trainer.devices=4", "--trainer.num_nodes=2"]
        done.add((request.table.name, request.rows[0].name, request.seeds[0]))
    everything = {(t, r, s) for t in ("two", "other") for r in ("first", "second") for s in (0, 3)}
    assert done == everything - {("two", "second", 0)}


def test_rows_run_here_and_what_has_no_result_is_a_failure(two_tables, tiny, tmp_path, capsys, monkeypatch):
    runs = tmp_path / "runs"

    def launch(command, environment, output):
        """A process that leaves a result for the first row, and an error for the second."""
        request = parse_request(command[4:])
        folder = request.table.run_dir(runs, request.rows[0], 0)
        if request.rows[0].name == "first":
            finish(folder)
        return subprocess.Popen(["sh", "-c", "exit 1" if request.rows[0].name == "second" else ":"])

    monkeypatch.setattr(local, "launch", launch)
    assert sweep(*two_tables, "--runs", runs, "--row=first", *tiny) == 0
    assert "2 runs: 2 done" in capsys.readouterr().err
    assert sweep(*two_tables, "--runs", runs, *tiny) == 1
    printed = capsys.readouterr().err
    assert "2 of 4 runs are done, skipped" in printed
    assert "other second seed 0: FAILED: exit status 1" in printed
    assert "4 runs: 2 failed, 2 done" in printed


@pytest.mark.slow
def test_rows_run_at_the_same_time(two_tables, tiny, tmp_path, capsys):
    args = [*two_tables, "--row=first", "--runs", tmp_path / "runs", "--jobs=2", "--trainer.logger=false", *tiny]
    assert sweep(*args) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [": starting" in line for line in lines[:2]] == [True, True]
    assert "step 8/8" in (tmp_path / "runs/other/default/first/seed0/log.txt").read_text()
    assert sweep(*args) == 0
    assert "starting" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--time=1:00:00"], "--time: is for Slurm; add --launcher slurm or --launcher print"),
        (["--array-parallelism=2"], "--array-parallelism: is for Slurm"),
        (["--launcher=print", "--jobs=2"], "--jobs: is for --launcher local"),
        (["--launcher=print", "--slurm=a100"], "--slurm: is a100, expected KEY=VALUE, such as constraint=a100"),
        (["--gpus-per-run=99"], "--gpus-per-run 99: this machine has"),
        (["--row=third"], "two.yaml: no row 'third'; rows: first, second"),
        (["--seeds=a"], "--seeds: is a, expected whole numbers"),
        (["--launcher=cloud"], "invalid choice: 'cloud'"),
        (["--data.root", "DIR", "--", "-x"], "-x"),
        (["none.yaml"], "none.yaml: no such file"),
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


def test_slurm_that_is_not_there_is_one_line(two_tables, tmp_path, capsys, monkeypatch):
    args = [two_tables[0], "--runs", tmp_path / "runs", "--launcher=slurm"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sweep(*args) == 2
    assert "no sbatch here; take a login node of the cluster, or --launcher print" in error(capsys)
    monkeypatch.setitem(sys.modules, "submitit", None)
    assert sweep(*args) == 2
    assert "submitit is not installed; pip install 'lit_video[slurm]'" in error(capsys)


def test_status_shows_every_state_and_imports_no_torch(two_tables, tmp_path):
    runs = tmp_path / "runs"
    finish(runs / "two/default/first/seed0")
    for row, seed, state, changes in [
        (
            "second",
            0,
            "training",
            {"host": "node7", "clips_per_second": 31.4, "seconds_left": 3725.2, "data_wait": 12.4},
        ),
        ("first", 1, "failed", {"message": "train/loss is not finite [step 3]"}),
        ("second", 1, "training", {}),
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
    assert lines[3:7] == [
        "two first 0 done",
        "two second 0 running 120/384 31 % 31 12 % 1:02:05 training on node7",
        "two first 1 failed 120/384 31 % train/loss is not finite [step 3]",
        lines[6],
    ]
    assert lines[6].startswith("two second 1 lost 120/384 31 % its process on ")
    assert lines[-1] == "4 runs: 1 running, 1 failed, 1 lost, 1 done"


def test_a_queue_that_does_not_answer_is_said(two_tables, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "runs/two/default/first/seed0"
    folder.mkdir(parents=True)
    write_ticket(folder, Ticket(job="5"))
    (tmp_path / "squeue").write_text("#!/bin/sh\necho slurm is down >&2\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert sweep(two_tables[0], "--runs", tmp_path / "runs", "--status") == 0
    assert "Slurm's queue is not known: slurm is down" in capsys.readouterr().out


def test_settings_with_a_space_are_no_tables(two_tables, tiny, tmp_path, capsys):
    args = ["--data.frames", "4", two_tables[0], "--config", two_tables[1], "--runs", tmp_path / "runs"]
    assert sweep(*args, "--row", "first", "--launcher=print", *tiny, "--data", "TemporalSkills") == 0
    words = shlex.split(capsys.readouterr().out.partition("--runs ")[2])
    assert words[1:] == ["--data.frames=4", *tiny, "--data=TemporalSkills"]
