"""Processes of a run, found and killed."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.faults.attempt import Attempt


class NotInjected(Exception):
    """There was nothing to inject the fault into: no such process, or not any more."""


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> list[str]:
    """Send a signal.

    Raises:
        NotInjected: the process is gone.
    """
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise NotInjected from None
    return []


def _children(attempt: Attempt) -> dict[int, bool]:
    """Processes that the first one of a run has forked or started: whether each is a further rank."""
    found = {}
    for pid in attempt.alive():
        with suppress(OSError):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == attempt.process.pid and b"lit_video" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found[pid] = b"LOCAL_RANK=1" in Path(f"/proc/{pid}/environ").read_bytes()
    return found


def kill_soon(find: Callable[[Attempt], list[int]]) -> Callable[[Attempt], list[str]]:
    """Kill a process as soon as there is one, within ten seconds."""

    def inject(attempt: Attempt) -> list[str]:
        start = time.monotonic()
        while time.monotonic() - start < 10:
            if pids := find(attempt):
                return kill(pids[0])
            time.sleep(0.005)
        raise NotInjected

    return inject


def workers(attempt: Attempt) -> list[int]:
    """Workers of the first process's loaders."""
    return [pid for pid, is_rank in _children(attempt).items() if not is_rank]


def second_rank(attempt: Attempt) -> list[int]:
    """The second rank."""
    return [pid for pid, is_rank in _children(attempt).items() if is_rank]


def wandb_core(attempt: Attempt) -> list[int]:
    """W&B's own process."""
    found = []
    for pid in attempt.alive():
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "wandb-core":
                found.append(pid)
    return found
