"""Test what is made of sbatch's answer and of the job around it, with a shell script as sbatch."""

from types import SimpleNamespace

import pytest

from lit_video.errors import UserError
from lit_video.launching.slurm import Resources, submit
from lit_video.runs.status import read_status

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

    def make(answer):
        path = tmp_path / "sbatch"
        path.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\ncat > /dev/null\ncat <<'END'\n{answer}\nEND\n")
        path.chmod(0o755)
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
    with pytest.raises(UserError, match=r"sbatch printed .*squeue"):
        submit([run], Resources())
    assert read_status(run.folder) is None


def test_the_job_around_it_is_not_handed_on(run, sbatch, monkeypatch, tmp_path):
    foreign = ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_CPU_BIND", "SLURMD_NODENAME", "PMI_RANK", "OMPI_COMM_WORLD_RANK")
    for name in (*foreign, "SLURM_CONF", "SBATCH_ACCOUNT"):
        monkeypatch.setenv(name, "1")
    sbatch("123")
    submit([run], Resources())
    found = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not found & {*foreign}
    assert {"SLURM_CONF", "SBATCH_ACCOUNT"} <= found, "sbatch's own"
