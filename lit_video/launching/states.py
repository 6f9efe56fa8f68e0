"""States of runs, by what their folders, their tickets, their locks and Slurm's queue say."""

import contextlib
import fcntl
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from lit_video.errors import UserError
from lit_video.tables.results import read_result
from lit_video.tables.status import RUNNING, Status, read_status
from lit_video.utils.files import write_atomically


@dataclass(frozen=True)
class Job:
    """A job, or a task of an array.

    Args:
        number: ``12``, or ``12_3`` for a task.
        state: Slurm's word, such as ``PENDING``.
        reason: why it waits.
    """

    number: str
    state: str
    reason: str

    @property
    def waits(self) -> bool:
        """Whether it has not begun, or not begun again."""
        return self.state in {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}

    @property
    def ends(self) -> bool:
        """Whether it has ended, and Slurm cleans up after it; a requeued job waits after that."""
        return self.state == "COMPLETING"


def queued_jobs() -> dict[str, Job]:
    """Jobs of this user that wait or run, by number; none where Slurm is not installed.

    Raises:
        UserError: Slurm does not answer.
    """
    command = ["squeue", "--me", "--array", "--noheader", "--format=%i|%T|%r"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return {}
    except subprocess.TimeoutExpired:
        raise UserError("squeue: no answer within a minute; try again") from None
    if done.returncode:
        raise UserError(done.stderr.strip().partition("\n")[0] or f"squeue: exit status {done.returncode}")
    jobs = [Job(*line.split("|", 2)) for line in done.stdout.splitlines() if line.count("|") >= 2]
    return {job.number: job for job in jobs}


FILE = "ticket.json"


@dataclass(frozen=True)
class Ticket:
    """A run's place in a queue.

    Args:
        job: of Slurm; empty for a sweep's own queue.
        host: of that sweep.
        pid: of that sweep; of the run once it has begun.
        started: when that process began, by its machine's clock: numbers of processes are used again.
        begun: whether the process is the run's, which takes its lock only when it has imported what it needs.
    """

    job: str = ""
    host: str = ""
    pid: int = 0
    started: str = ""
    begun: bool = False

    @property
    def living(self) -> bool:
        """Whether it is of a process of this machine that still exists; of other machines this is not known."""
        return self.host == socket.gethostname() and bool(self.started) and self.started == _started(self.pid)


def own_ticket() -> Ticket:
    """A place in the queue of this process."""
    return Ticket("", socket.gethostname(), os.getpid(), _started(os.getpid()))


def begun_ticket(pid: int) -> Ticket:
    """The ticket of a run whose process has just been started."""
    return Ticket("", socket.gethostname(), pid, _started(pid), begun=True)


def write_ticket(folder: Path, ticket: Ticket) -> None:
    """Give a run its place."""
    write_atomically(folder / FILE, json.dumps(asdict(ticket)) + "\n")


def read_ticket(folder: Path) -> Ticket | None:
    """A run's place; ``None`` if it has none, or none that can be read."""
    try:
        return Ticket(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except Exception:  # a damaged file can raise anything
        return None


def drop_ticket(folder: Path, ticket: Ticket) -> None:
    """Give the place up, if it is still this one."""
    if read_ticket(folder) == ticket:
        with contextlib.suppress(OSError):
            (folder / FILE).unlink()


def _started(pid: int) -> str:
    """When a process of this machine began, in ticks since the machine did; empty if there is none, or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


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
