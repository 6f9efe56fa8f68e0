"""Who has a run in its queue, or has just begun it: ``ticket.json`` in the run's folder."""

import contextlib
import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from lit_video.utils.files import write_atomically

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
    """Of a run whose process has just been started."""
    return Ticket("", socket.gethostname(), pid, _started(pid), begun=True)


def write_ticket(folder: Path, ticket: Ticket) -> None:
    """Give a run its place."""
    write_atomically(folder / FILE, json.dumps(asdict(ticket)) + "\n")


def read_ticket(folder: Path) -> Ticket | None:
    """A run's place; ``None`` if it has none, or none that can be read."""
    try:
        return Ticket(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
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
