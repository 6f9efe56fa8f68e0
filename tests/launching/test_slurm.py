"""Test rows on a real Slurm of two nodes: preempted ones end like uninterrupted ones (make test-slurm)."""

import re
import subprocess
import sys
import time
from contextlib import redirect_stdout
from io import StringIO

import pytest

from lit_video.__main__ import main
from lit_video.runs.folder import read_finished, read_status
from tests.conftest import TINY, write_table
from tests.launching.slurm_cluster import cluster, why_not
from tests.training.test_stopping import check_equal

pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(why_not()), reason=why_not())]

# long enough to be stopped in the middle of an epoch
FLAGS = [flag for flag in TINY if "epoch" not in flag] + ["--trainer.max_epochs=60", "--data.pairs=[4,1,2]"]
FLAGS += ["--trainer.check_val_every_n_epoch=20", "--trainer.accelerator=cpu", "--trainer.logger=false"]
STEPS = 60 * 32 // 4
LIMIT = 400  # seconds for each wait


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Two idle nodes, and the environment of their user."""
    with pytest.MonkeyPatch.context() as patch, cluster(tmp_path_factory.mktemp("slurm")) as environment:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def two_rows(tmp_path_factory):
    """Table of the rows ``first`` and ``second``."""
    return write_table(tmp_path_factory.mktemp("table") / "two.yaml")


@pytest.fixture(scope="module")
def whole(slurm, two_rows, tmp_path_factory):
    """Folder of the runs of both rows as an array, not interrupted."""
    runs = tmp_path_factory.mktemp("whole")
    job = submit(two_rows, runs)
    wait_for(lambda: finished(job), job)
    return runs


@pytest.fixture(scope="module")
def whole_of_two(slurm, two_rows, tmp_path_factory):
    """Folder of the run of a row by srun, with two tasks on two nodes, not interrupted."""
    runs = tmp_path_factory.mktemp("whole_of_two")
    fit = [sys.executable, "-m", "lit_video", "fit", "--config", two_rows, "--row=first", "--runs", runs, *FLAGS]
    call("srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", *fit, "--trainer.num_nodes=2")
    return runs


def call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def sweep(table, runs, *args):
    return main(["sweep", str(table), "--runs", str(runs), *args, *FLAGS])


def submit(table, runs, *args):
    """Submit rows by ``sweep``; return the number of the job."""
    with redirect_stdout(StringIO()) as printed:
        assert sweep(table, runs, "--launcher=slurm", "--cpus=1", *args) == 0
    return re.search(r"runs submitted as job (\d+)", printed.getvalue())[1]


def states(job):
    """Return Slurm's state of each task of a job."""
    return re.findall(r"JobState=(\w+)", call("scontrol", "show", "job", "--oneliner", job))


def finished(job):
    assert not {"FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED"} & set(states(job)), call("scontrol", "show", "job", job)
    return set(states(job)) == {"COMPLETED"}


def wait_for(condition, job=""):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, call("scontrol", "show", "job", *job.split())
        time.sleep(0.1)


def folder(runs, row="first"):
    return runs / "two/default" / row / "seed0"


def in_training(run_dir):
    status = read_status(run_dir)
    return status is not None and status.state == "training" and 5 < status.step < STEPS // 2


def start_again(job):
    """Skip the minutes for which Slurm delays a requeued job, and wait until it has finished."""
    wait_for(lambda: states(job) == ["PENDING"], job)
    time.sleep(2)  # started again within the second of its end, a job fails ("Job credential revoked", Slurm 22.05)
    call("scontrol", "update", f"jobid={job}", "StartTime=now")
    wait_for(lambda: finished(job), job)


def test_usr1_puts_a_row_back_into_the_queue_and_changes_no_result(whole, two_rows, tmp_path, capsys):
    job = submit(two_rows, tmp_path, "--row=first")
    run_dir = folder(tmp_path)
    wait_for(lambda: in_training(run_dir), job)
    call("scancel", "--signal=USR1", f"{job}_0")
    wait_for(lambda: states(job) == ["PENDING"], job)
    assert read_status(run_dir).state == "preempted"
    assert 5 < read_status(run_dir).step < STEPS
    assert sweep(two_rows, tmp_path, "--row=first", "--status") == 0
    assert re.search(rf"first .* preempted .*job {job}_0 waits", capsys.readouterr().out)
    assert sweep(two_rows, tmp_path, "--row=first") == 1, "the job owns the row"
    assert f"left alone (job {job}_0 waits" in capsys.readouterr().out
    start_again(job)
    check_equal(run_dir, folder(whole))


def test_sweep_submits_a_row_of_two_tasks_that_scontrol_requeues(whole_of_two, two_rows, tmp_path, capsys):
    run_dir, args = folder(tmp_path), ("--row=first", "--launcher=slurm", "--nodes=2", "--cpus=1")
    job = submit(two_rows, tmp_path, *args)
    assert sweep(two_rows, tmp_path, *args) == 0
    assert re.search(rf"left alone \((starting )?job {job}_0\b", capsys.readouterr().out)
    wait_for(lambda: in_training(run_dir), job)
    assert sweep(two_rows, tmp_path, *args, "--status") == 0
    assert re.search(rf"first .* running .*/{STEPS // 2} .* job {job}", capsys.readouterr().out)
    call("scontrol", "requeue", job)
    start_again(job)
    assert read_finished(run_dir).result.steps == STEPS // 2
    check_equal(run_dir, folder(whole_of_two))
    assert sweep(two_rows, tmp_path, *args, "--status") == 0
    assert "1 runs: 1 done" in capsys.readouterr().out
