"""Test the state of a run, as its folder, its lock and Slurm show it."""

import subprocess
import time
from types import SimpleNamespace

import pytest
from filelock import FileLock

from lit_video.errors import UserError
from lit_video.launching.states import SILENT, jobs_of, observe, queued_jobs
from lit_video.runs.folder import write_status
from lit_video.runs.record import Status
from tests.fake_runs import write_result

WAITS = {"7_0": "Resources"}
RUNS = {"7_0": ""}


def status(folder, state, **changes):
    write_status(folder, Status(state, 120, 384, **changes))


def test_a_folder_without_anything_is_not_started(tmp_path):
    assert observe(tmp_path / "none", {}).state == observe(tmp_path, {}).state == "not started"


def test_a_result_is_done_whatever_the_status_says(tmp_path):
    folder = tmp_path / "t/s/r/seed0"
    folder.mkdir(parents=True)
    write_result(folder, table="t", row="r", scale="s", seed=0, gmacs=1, metrics={}, test_videos=1)
    status(folder, "failed")
    assert observe(folder, {}).state == "done"
    (folder / "run.json").write_text("{")
    assert observe(folder, {}).state == "failed"
    assert "damaged" in observe(folder, {}).detail


def test_who_holds_the_lock_runs(tmp_path):
    with FileLock(tmp_path / "lock"):
        assert observe(tmp_path, {}).state == "running"
        status(tmp_path, "failed")
        assert observe(tmp_path, {}).detail == "starting", "the status of an earlier attempt does not count"
        status(tmp_path, "testing", host="node7")
        assert observe(tmp_path, {}).detail == "testing on node7"
    assert observe(tmp_path, {}).state == "running", "another machine's lock may not be seen here"
    assert FileLock(tmp_path / "lock", timeout=0).acquire(), "observe leaves no lock"


LONG_AGO = time.time() - SILENT - 1


@pytest.mark.parametrize(
    ("changes", "jobs", "state", "detail"),
    [
        ({"state": "training"}, {}, "lost", "is gone"),  # on this machine, and its lock is free
        ({"state": "training", "host": "node7", "time": LONG_AGO}, {}, "lost", "on node7 is gone"),
        ({"state": "training", "host": "node7", "time": LONG_AGO}, RUNS, "running", "training on node7 job 7_0"),
        ({"state": "training", "host": "node7", "time": LONG_AGO}, WAITS, "queued", "job 7_0 waits (Resources)"),
        ({"state": "failed", "message": "why"}, {}, "failed", "why"),
        ({"state": "stopped", "message": "why"}, {}, "stopped", "why"),
        ({"state": "failed", "message": "why"}, RUNS, "failed", "why"),
        ({"state": "stopped", "message": "why"}, RUNS, "stopped", "why"),
        ({"state": "stopped", "message": "why"}, WAITS, "queued", "job 7_0 waits (Resources)"),
        ({"state": "preempted"}, RUNS, "running", "starting job 7_0"),
        ({"state": "queued"}, WAITS, "queued", "job 7_0 waits (Resources)"),
        ({"state": "queued"}, {}, "stopped", "job 7_0 is not in Slurm's queue"),
        ({"state": "preempted"}, WAITS, "preempted", "job 7_0 waits (Resources)"),
        ({"state": "preempted", "message": "by USR1"}, {}, "preempted", "by USR1"),
    ],
)
def test_what_the_status_and_slurm_say(changes, jobs, state, detail, tmp_path):
    write_status(tmp_path, Status(**changes, job="7_0"))
    observed = observe(tmp_path, jobs)
    assert observed.state == state and detail in observed.detail
    is_waiting = jobs == WAITS
    assert observed.active == (is_waiting or state == "running"), "running and waiting runs are not started again"


def fake_squeue(folder, script, monkeypatch):
    path = folder / "squeue"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_slurm_that_does_not_answer_is_asked_again_as_told(tmp_path, monkeypatch):
    fake_squeue(tmp_path, "sleep 1", monkeypatch)
    run = subprocess.run
    monkeypatch.setattr("subprocess.run", lambda command, **options: run(command, **options | {"timeout": 0.01}))
    with pytest.raises(UserError, match="squeue: no answer within a minute; try again"):
        queued_jobs()
    monkeypatch.setattr("subprocess.run", run)
    fake_squeue(tmp_path, "echo '7_1|RUNNING|None'", monkeypatch)
    assert queued_jobs() == {"7_1": ""}


def test_slurm_is_asked_only_about_what_it_was_given(tmp_path, monkeypatch):
    lines = ("7_0|PENDING|Resources", "7_1|RUNNING|None", "7_2|COMPLETING|None", "7_3|REQUEUE_HOLD|launch failed")
    fake_squeue(tmp_path, "; ".join(f"echo '{line}'" for line in lines), monkeypatch)
    assert queued_jobs() == WAITS | {"7_1": "", "7_3": "launch failed"}
    fake_squeue(tmp_path, "echo 'slurm_load_jobs error: Unable to contact' >&2; echo more >&2; exit 1", monkeypatch)
    status(tmp_path, "stopped", job="")
    run = SimpleNamespace(folder=tmp_path)
    assert jobs_of([run]) == {}
    status(tmp_path, "stopped", job="7_0")
    with pytest.raises(UserError, match=r"^slurm_load_jobs error: Unable to contact$"):
        jobs_of([run])
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert jobs_of([run]) == {}
