"""Test what is made of sbatch's answer and of the job around it, with a shell script as sbatch."""

import re
from types import SimpleNamespace

import pytest

from lit_video.errors import UserError
from lit_video.launching.slurm import Resources, largest_array, scripts, submit
from lit_video.runs.folder import read_status

BANNER = "Welcome to the cluster\n----------------"


@pytest.fixture
def run(tmp_path):
    """A run to submit."""
    folder = tmp_path / "run"
    folder.mkdir()
    request = SimpleNamespace(table=SimpleNamespace(name="t"), folder=tmp_path)
    return SimpleNamespace(request=request, folder=folder, log=folder / "log.txt", command=["true"])


@pytest.fixture
def sbatch(tmp_path, monkeypatch):
    """Function that makes an sbatch with an answer; it writes its variables into a file."""

    def make(answer, most=1001):
        path = tmp_path / "sbatch"
        path.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\ncat > /dev/null\ncat <<'END'\n{answer}\nEND\n")
        path.chmod(0o755)
        scontrol = tmp_path / "scontrol"
        scontrol.write_text(f"#!/bin/sh\necho 'MaxArrayTasks = 5'\necho 'MaxArraySize            = {most}'\n")
        scontrol.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return make


@pytest.mark.parametrize(
    "answer",
    [
        "123",
        "123;cluster",
        f"{BANNER}\n123",
        "Submitted batch job 123",
        f"{BANNER}\nSubmitted batch job 123 on cluster b",
        "Budget left: 1000\n1000\n123\nGoodbye",
    ],
)
def test_the_last_line_that_is_a_number_is_the_jobs(answer, run, sbatch, capsys):
    sbatch(answer)
    submit([run], Resources())
    assert read_status(run.folder).job == "123_0"
    assert capsys.readouterr().out.startswith("t: 1 runs submitted as job 123\n")


@pytest.mark.parametrize("answer", ["", BANNER, "job <queued>", "error 12 of 3"])
def test_an_answer_without_a_number_is_refused(answer, run, sbatch):
    sbatch(answer)
    with pytest.raises(
        UserError, match=r"sbatch printed .*look there \(squeue --me\) and cancel them before you repeat"
    ):
        submit([run], Resources())
    assert read_status(run.folder) is None
    sbatch("123")
    submit([run], Resources())
    assert read_status(run.folder).job == "123_0", "repeated as told"


def test_a_machine_without_sbatch_says_where_it_is(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no sbatch here; take a login node of the cluster"):
        submit([run], Resources())


def test_the_job_around_it_is_not_handed_on(run, sbatch, monkeypatch, tmp_path):
    foreign = ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_CPU_BIND", "SLURMD_NODENAME", "PMI_RANK", "OMPI_COMM_WORLD_RANK")
    for name in (*foreign, "SLURM_CONF", "SBATCH_ACCOUNT"):
        monkeypatch.setenv(name, "1")
    sbatch("123")
    submit([run], Resources())
    found = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not found & {*foreign}
    assert {"SLURM_CONF", "SBATCH_ACCOUNT"} <= found, "sbatch's own"


def array_of(number, run):
    """Return runs of a table."""
    return [SimpleNamespace(**vars(run) | {"folder": run.folder / str(place)}) for place in range(number)]


@pytest.mark.parametrize(("number", "sizes"), [(3, [3]), (4, [3, 1]), (7, [3, 3, 1])])
@pytest.mark.parametrize("jobs", [None, 2])
def test_more_runs_than_a_site_allows_are_several_arrays(number, sizes, jobs, run, sbatch, tmp_path, capsys):
    sbatch("123", most=3)
    script = (
        (tmp_path / "sbatch").read_text().replace("cat > /dev/null", f'echo "$@" >> {tmp_path}/calls; cat > /dev/null')
    )
    (tmp_path / "sbatch").write_text(script)
    runs = array_of(number, run)
    for one in runs:
        one.folder.mkdir()
    submit(runs, Resources(parallel=jobs, options={"dependency": "singleton"}))
    calls = (tmp_path / "calls").read_text().splitlines()
    limit = f"%{jobs}" if jobs else ""
    assert [re.search(r"--array=(\S+)", call)[1] for call in calls] == [f"0-{size - 1}{limit}" for size in sizes]
    first, *later = (re.search(r"--dependency=(\S+)", call)[1] for call in calls)
    assert first == "singleton"
    assert set(later) <= {"afterany:123,singleton" if jobs else "singleton"}
    assert [read_status(one.folder).job for one in runs] == [f"123_{i}" for size in sizes for i in range(size)]
    assert f"{sizes[-1]} runs submitted" in capsys.readouterr().out
    assert len(scripts(runs, Resources())) == len(sizes)


def test_a_site_that_does_not_answer_has_slurms_usual_limit(run, sbatch, tmp_path):
    sbatch("123")
    (tmp_path / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    assert largest_array() == 1001
