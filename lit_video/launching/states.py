"""What runs are doing, by what their folders, their locks and Slurm's queue say."""

import fcntl
import os
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lit_video.errors import UserError
from lit_video.launching.squeue import Job, queued_jobs
from lit_video.launching.tickets import Ticket, read_ticket
from lit_video.tables.results import read_result
from lit_video.tables.status import RUNNING, Status, read_status

State = Literal["done", "running", "queued", "preempted", "failed", "stopped", "lost", "not started"]
ACTIVE: tuple[State, ...] = ("running", "queued")

# seconds without news after which a run whose lock no process holds counts as gone
SILENT = 60.0


@dataclass(frozen=True)
class Observed:
    """A run at a moment.

    Args:
        state: what it does.
        detail: why, where, or since when, in a line.
        status: what the run last said.
        waits: whether it is in a queue: a preempted run that goes on by itself.
    """

    state: State
    detail: str = ""
    status: Status | None = None
    waits: bool = False

    @property
    def active(self) -> bool:
        """Whether it runs or waits somewhere, so that it must not be started again."""
        return self.state in ACTIVE or self.waits


def jobs_of(folders: Iterable[Path]) -> dict[str, Job]:
    """Slurm's queue, if any of the runs without a result was given to Slurm.

    Raises:
        UserError: Slurm does not answer.
    """
    left = (folder for folder in folders if not (folder / "result.json").exists())
    said = (said for folder in left for said in (read_ticket(folder), read_status(folder)))
    return queued_jobs() if any(one and one.job for one in said) else {}


def observe(folder: Path, jobs: Mapping[str, Job]) -> Observed:
    """What a run is doing.

    Args:
        folder: of the run.
        jobs: those in Slurm's queue, by number.
    """
    status, ticket = read_status(folder), read_ticket(folder)
    try:
        if read_result(folder):
            return Observed("done", status=status)
    except UserError as error:
        return Observed("failed", str(error), status)
    job = jobs.get(status.job if status else "") or jobs.get(ticket.job if ticket else "")
    begun = ticket is not None and ticket.begun and ticket.living and (status is None or status.pid != ticket.pid)
    if begun or lock_held(folder) or (job and not job.waits and not job.ends):
        return _running(status, job)
    if status and status.state == "preempted":
        place = f"job {job.number} waits ({job.reason})" if job else _queue(ticket)
        return Observed("preempted", place or status.message, status, bool(place))
    place = f"job {job.number} waits ({job.reason})" if job and job.waits else _queue(ticket)
    if place:
        return Observed("queued", place, status, True)
    if status is None:
        return Observed("not started")
    if status.state in ("failed", "stopped"):
        return Observed(status.state, status.message, status)
    if status.host != socket.gethostname() and abs(time.time() - status.time) <= SILENT:
        return _running(status, job)
    return Observed("lost", f"its process on {status.host} is gone and left no message", status)


def _running(status: Status | None, job: Job | None) -> Observed:
    """A run that works, with what it last said unless that is of an earlier attempt."""
    where = f"job {job.number}" if job else ""
    if status is None or status.state not in RUNNING:
        return Observed("running", f"starting {where}".strip(), status)
    return Observed("running", f"{status.state} on {status.host} {where}".strip(), status)


def _queue(ticket: Ticket | None) -> str:
    if ticket is None or ticket.begun or not ticket.living:
        return ""
    return f"waits its turn in process {ticket.pid}"


def lock_held(folder: Path) -> bool:
    """Whether a process holds the run's lock, as far as this machine can tell.

    Asks for a shared lock, and for an instant only: a run that starts in it tries again.
    """
    try:
        file = os.open(folder / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(file)
    return False
