"""States of runs, from their folders, their locks and Slurm's queue."""

import fcntl
import re
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lit_video.errors import UserError
from lit_video.experiment.request import Run
from lit_video.runs.folder import RUNNING, read_finished, read_status
from lit_video.runs.record import Status

RunState = Literal["running", "queued", "preempted", "failed", "lost", "stopped", "done", "not started"]

# seconds of silence after which a run on another machine counts as lost (its lock may be invisible here)
SILENT = 60.0


@dataclass(frozen=True)
class Observed:
    """State of a run at one moment."""

    state: RunState
    detail: str = ""  # reason or machine, in one line
    status: Status | None = None  # last written status
    activity: str = ""  # work of a running one: starting, training, testing, ...
    active: bool = False  # running or in Slurm's queue, so it must not be started again


def observe(folder: Path, jobs: Mapping[str, str]) -> Observed:
    """Find out what a run is doing; ``jobs`` is Slurm's queue, see :func:`queued_jobs`."""
    status = read_status(folder)
    try:
        if read_finished(folder):
            return Observed("done", status=status)
    except UserError as error:
        return Observed("failed", str(error), status)

    if status is None:
        if lock_held(folder):
            return Observed("running", "starting", activity="starting", active=True)
        return Observed("not started")

    job = status.job
    why_waiting = jobs.get(job)  # empty if the job runs; None if it is not in the queue
    has_ended = status.state in ("failed", "stopped")  # its allocation may live on, for other runs
    if lock_held(folder) or (why_waiting == "" and not has_ended):
        return _running(status)
    if why_waiting:
        state: RunState = "preempted" if status.state == "preempted" else "queued"
        waits = f"job {job} waits ({why_waiting})".removesuffix(" (None)")  # Slurm says None until it looks at the job
        return Observed(state, waits, status, active=True)
    if status.state == "queued":
        return Observed("stopped", f"job {job} is not in Slurm's queue", status)

    if status.state in ("failed", "stopped", "preempted"):
        return Observed(status.state, status.message, status)
    if status.host != socket.gethostname() and abs(time.time() - status.time) <= SILENT:
        return _running(status)
    return Observed("lost", f"its process on {status.host} is gone and left no message", status)


def _running(status: Status) -> Observed:
    """Describe a run at work by its last status; a status that an earlier attempt wrote is ignored."""
    is_known = status.state in RUNNING
    activity = status.state if is_known else "starting"
    detail = f"{activity} on {status.host}" if is_known else activity
    if status.job:
        detail += f" job {status.job}"
    return Observed("running", detail, status, activity=activity, active=True)


def lock_held(folder: Path) -> bool:
    """Return whether a process holds the run's lock, as far as this machine can tell."""
    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # held for an instant; a run that starts meanwhile retries
    except OSError as error:  # other errors: no such file, or a file system without locks
        return isinstance(error, BlockingIOError)
    return False


def jobs_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return Slurm's queue, if any of the runs was submitted to Slurm."""
    for run in runs:
        status = read_status(run.folder)
        if status and status.job:
            return queued_jobs()
    return {}


def queued_jobs() -> dict[str, str]:
    """Return for each of the user's jobs, by number, why it waits; empty if it runs. No jobs without Slurm."""
    command = ["squeue", "--me", "--array", "--noheader", "--format=%i|%T|%r"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return {}
    except subprocess.TimeoutExpired:
        raise UserError("squeue: no answer within a minute; try again") from None
    if done.returncode:
        raise UserError(done.stderr.strip().partition("\n")[0] or f"squeue: exit status {done.returncode}")

    jobs = {}
    for number, state, why in re.findall(r"^(.*?)\|(.*?)\|(.*)$", done.stdout, re.MULTILINE):
        if state.startswith(("PENDING", "REQUEUE", "SPECIAL_EXIT")):
            jobs[number] = why
        elif state != "COMPLETING":
            jobs[number] = ""
    return jobs
