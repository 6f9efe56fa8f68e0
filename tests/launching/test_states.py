import os
import subprocess
import time
from dataclasses import replace

import pytest
from filelock import FileLock

from lit_video.errors import UserError
from lit_video.launching.states import (
    SILENT,
    Job,
    Ticket,
    begun_ticket,
    drop_ticket,
    jobs_of,
    observe,
    own_ticket,
    queued_jobs,
    read_ticket,
    write_ticket,
)
from lit_video.tables.status import Status, write_status
from tests.fake_runs import write_result

WAITS = {"7_0": Job("7_0", "PENDING", "Resources")}
RUNS = {"7_0": Job("7_0", "RUNNING", "None")}
ENDS = {"7_0": Job("7_0", "COMPLETING", "None")}


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
    (folder / "result.json").write_text("{")
    assert observe(folder, {}).state == "failed"
    assert "damaged" in observe(folder, {}).detail


def test_who_holds_the_lock_runs(tmp_path):
    with FileLock(tmp_path / "lock"):
        assert observe(tmp_path, {}).state == "running"
        status(tmp_path, "failed")
        assert observe(tmp_path, {}).detail == "starting", "the status is of the attempt before"
        status(tmp_path, "testing", host="node7")
        assert observe(tmp_path, {}).detail == "testing on node7"
    assert observe(tmp_path, {}).state == "running", "another machine's lock may not be seen here"
    assert FileLock(tmp_path / "lock", timeout=0).acquire(), "looking leaves no lock"


def test_a_run_that_is_silent_or_gone_is_lost(tmp_path):
    status(tmp_path, "training")
    assert observe(tmp_path, {}).state == "lost", "on this machine the lock is known, and free"
    status(tmp_path, "training", host="node7", time=time.time() - SILENT - 1)
    assert observe(tmp_path, {}).state == "lost"
    assert not observe(tmp_path, {}).active
    status(tmp_path, "training", host="node7", job="7_0")
    assert observe(tmp_path, RUNS).state == "running"
    status(tmp_path, "training", host="node7", job="7_0", time=time.time() - SILENT - 1)
    assert observe(tmp_path, RUNS).state == "running", "Slurm knows"
    assert observe(tmp_path, WAITS).state == "queued", "killed, and queued again by Slurm"


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_a_run_that_ended_says_why(tmp_path, state):
    status(tmp_path, state, message="why", job="7_0")
    for jobs in ({}, ENDS):
        observed = observe(tmp_path, jobs)
        assert (observed.state, observed.detail, observed.active) == (state, "why", False)
    assert observe(tmp_path, RUNS).detail == "starting job 7_0"


def test_a_preempted_run_goes_on_by_itself_if_slurm_has_it(tmp_path):
    status(tmp_path, "preempted", message="stopped by USR1", job="7_0")
    observed = observe(tmp_path, WAITS)
    assert (observed.state, observed.active) == ("preempted", True)
    assert observed.detail == "job 7_0 waits (Resources)"
    assert observe(tmp_path, ENDS).active
    observed = observe(tmp_path, {})
    assert (observed.state, observed.detail, observed.active) == ("preempted", "stopped by USR1", False)


def test_places_in_queues(tmp_path):
    write_ticket(tmp_path, Ticket(job="7_0"))
    assert observe(tmp_path, WAITS).state == "queued"
    assert observe(tmp_path, {}).state == "not started", "the job is gone"
    mine = own_ticket()
    write_ticket(tmp_path, mine)
    assert observe(tmp_path, {}).detail == f"waits its turn in process {os.getpid()}"
    for dead in (
        replace(mine, started="1"),
        replace(mine, host="node7"),
        replace(mine, pid=-1),
        replace(mine, pid="x"),
    ):
        write_ticket(tmp_path, dead)
        assert observe(tmp_path, {}).state == "not started"
    drop_ticket(tmp_path, mine)
    assert read_ticket(tmp_path) == dead, "another's place"
    (tmp_path / "ticket.json").write_text("[[[")
    assert observe(tmp_path, {}).state == "not started"


def test_a_run_runs_from_its_first_moment_before_it_has_its_lock(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as process:
        status(tmp_path, "failed", message="of the attempt before")
        write_ticket(tmp_path, begun_ticket(process.pid))
        assert observe(tmp_path, {}).active
        assert (observe(tmp_path, {}).state, observe(tmp_path, {}).detail) == ("running", "starting")
        status(tmp_path, "stopped", pid=process.pid)
        assert observe(tmp_path, {}).state == "stopped", "it has said so itself, and only ends"
        process.kill()
        status(tmp_path, "failed", message="of the attempt before")
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert observe(tmp_path, {}).state == "failed", "nobody has waited for it yet"
    assert observe(tmp_path, {}).state == "failed"


def fake_squeue(folder, script, monkeypatch):
    path = folder / "squeue"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_slurm_is_asked_only_about_what_it_was_given(tmp_path, monkeypatch):
    fake_squeue(tmp_path, "echo '7_0|PENDING|Resources'; echo '7_1|RUNNING|None'", monkeypatch)
    assert queued_jobs() == WAITS | {"7_1": Job("7_1", "RUNNING", "None")}
    fake_squeue(tmp_path, "echo 'slurm_load_jobs error: Unable to contact' >&2; echo more >&2; exit 1", monkeypatch)
    status(tmp_path, "stopped", job="")
    assert jobs_of([tmp_path]) == {}
    status(tmp_path, "stopped", job="7_0")
    with pytest.raises(UserError, match=r"^slurm_load_jobs error: Unable to contact$"):
        jobs_of([tmp_path])
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert jobs_of([tmp_path]) == {}
