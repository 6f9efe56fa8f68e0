"""What can happen to a run from outside: each fault, how the run is to end, and how the machine is put right."""

import resource
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.attempt import Attempt
from benchmarks.faults.checks import lock_held, wrong_words
from benchmarks.faults.disks import fill, read_only, small_disk, unmount
from benchmarks.faults.kills import NotInjected, kill, kill_soon, second_rank, wandb_core, workers
from benchmarks.faults.place import Place
from lit_video.utils.exit_status import DONE, FAILED, INTERRUPTED, MISTAKE, PREEMPTED, TERMINATED

REFUSED = frozenset({FAILED, MISTAKE})


def _nothing(place: Place) -> None:
    """Nothing to prepare, or to put right."""


@dataclass(frozen=True)
class Fault:
    """A fault.

    Args:
        inject: makes it happen to a run; returns what went wrong there; raises ``NotInjected``.
        statuses: with which the run may end; it may also end with 0 and the right result.
        prepare: the place, before the run.
        undo: what it did to the machine.
        mounts: whether it needs mounts.
    """

    inject: Callable[[Attempt], list[str]]
    statuses: frozenset[int]
    prepare: Callable[[Place], None] = _nothing
    undo: Callable[[Place], None] = _nothing
    mounts: bool = False


def _signal(number: signal.Signals, status: int) -> Fault:
    return Fault(lambda attempt: kill(attempt.process.pid, number), frozenset({status}))


def _small(folder: str, megabytes: int) -> Callable[[Place], None]:
    def mount(place: Place) -> None:
        small_disk(place.folder / folder, megabytes)
        place.mounts.append(place.folder / folder)

    return mount


def _full(folder: str, megabytes: int) -> Fault:
    def inject(attempt: Attempt) -> list[str]:
        fill(attempt.place.folder / folder)
        return []

    def undo(place: Place) -> None:
        (place.folder / folder / "filler").unlink(missing_ok=True)

    return Fault(inject, REFUSED, prepare=_small(folder, megabytes), undo=undo, mounts=True)


def _make_read_only(attempt: Attempt) -> list[str]:
    read_only(attempt.place.runs)
    attempt.place.mounts.append(attempt.place.runs)
    return []


def _make_writable(place: Place) -> None:
    if place.runs in place.mounts:
        unmount(place.runs)
        place.mounts.remove(place.runs)


def _limit_files(attempt: Attempt) -> list[str]:
    """Files may not grow beyond 128 KB: a checkpoint has 160, a batch in shared memory less."""
    for pid in attempt.alive():
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 17, resource.RLIM_INFINITY))
    return []


def _limit_memory(attempt: Attempt) -> list[str]:
    """The first process may take no more memory than it has, and a megabyte."""
    try:
        status = Path(f"/proc/{attempt.process.pid}/status").read_text()
        used = int(status.partition("VmData:")[2].split()[0]) << 10
        resource.prlimit(attempt.process.pid, resource.RLIMIT_DATA, (used + (1 << 20), resource.RLIM_INFINITY))
    except (OSError, IndexError):
        raise NotInjected from None
    return []


def _start_second(attempt: Attempt) -> list[str]:
    """Start the same command while the run is paused; it must be refused if the run had the folder."""
    paused = attempt.alive()
    for pid in paused:
        kill(pid, signal.SIGSTOP)
    try:
        held = lock_held(attempt.run_dir)
        with Attempt(attempt.setting, attempt.place) as second:
            status = second.wait()
            problems = wrong_words(status, second.out, second.err)
            refused = status == MISTAKE and "another process is running it" in second.err
            if refused != held or status not in (DONE, MISTAKE):
                problems.append(f"the second process ended with {status}: {second.err[-300:]}")
    finally:
        for pid in paused:
            kill(pid, signal.SIGCONT)
    return problems


def _jump(seconds: float) -> Fault:
    def inject(attempt: Attempt) -> list[str]:
        attempt.place.clock.write_text(str(seconds))
        return []

    return Fault(inject, frozenset({DONE}))


FAULTS: dict[str, Fault] = {
    "SIGKILL": _signal(signal.SIGKILL, -signal.SIGKILL),
    "SIGTERM": _signal(signal.SIGTERM, TERMINATED),
    "SIGINT": _signal(signal.SIGINT, INTERRUPTED),
    "SIGUSR1": _signal(signal.SIGUSR1, PREEMPTED),
    "worker killed": Fault(kill_soon(workers), frozenset({FAILED})),
    "rank 1 killed": Fault(kill_soon(second_rank), frozenset({FAILED})),
    "run disk full": _full("runs", 16),
    "TMPDIR full": _full("tmp", 1),
    "file size limited": Fault(_limit_files, REFUSED),
    "run disk read-only": Fault(_make_read_only, REFUSED, undo=_make_writable, mounts=True),
    # where not even an exception can be made, the interpreter aborts, or the system's loader (127)
    "memory limited": Fault(_limit_memory, frozenset({FAILED, -signal.SIGABRT, -signal.SIGSEGV, 127})),
    "clock a day ahead": _jump(86400.0),
    "clock a day back": _jump(-86400.0),
    "second process": Fault(_start_second, frozenset({DONE})),
    "wandb-core killed": Fault(kill_soon(wandb_core), frozenset({DONE})),
}
