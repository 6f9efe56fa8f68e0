"""Faults of a run, the phases that they hit in runs of one process, and the exit statuses allowed."""

import errno
import os
import pickle
import re
import resource
import signal
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.faults.runs import PHASES, Attempt, mount
from lit_video.launching.states import lock_held
from lit_video.utils.processes import DONE, FAILED, INTERRUPTED, MISTAKE, PREEMPTED, TERMINATED

REFUSED = (FAILED, MISTAKE)
TESTED = ("training", "validation", "test")


class NotInjected(Exception):
    """The fault has no target: its process does not exist, or not any more."""


@dataclass(frozen=True)
class Fault:
    """A fault of a process or the machine."""

    inject: Callable[[Attempt], list[str] | None]  # returns problems; raises NotInjected
    statuses: tuple[int, ...]  # beside 0 with the right result
    phases: tuple[str, ...] = ()
    disk: tuple[str, int] | None = None  # folder and megabytes of a small disk

    @property
    def mounts(self) -> bool:
        """Whether the fault needs mounts."""
        return self.disk is not None or self.inject is _read_only


def may_mount() -> bool:
    """Return whether this process may mount disks."""
    with tempfile.TemporaryDirectory() as folder, suppress(OSError):
        mount("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder)
        mount("umount", "-l", folder)
        return True
    return False


def _kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise NotInjected from None


def _signal(number: signal.Signals, status: int) -> Fault:
    return Fault(lambda attempt: _kill(attempt.process.pid, number), (status,), tuple(PHASES))


def _soon(ours: Callable[[Path, int], bool]) -> Callable[[Attempt], None]:
    """Return a fault's action: kill the first process that ``ours`` accepts, in ten seconds of the run's own time."""

    def inject(attempt: Attempt) -> None:
        for _ in attempt.time.moments(10.0, every=0.005):
            for pid in attempt.alive():
                with suppress(OSError):
                    if ours(Path(f"/proc/{pid}"), attempt.process.pid):
                        return _kill(pid)
        raise NotInjected

    return inject


def _worker_or_rank(process: Path, first: int) -> tuple[bool, bool]:
    """Return whether a process is a worker of the first process's loaders, and whether it is rank 1."""
    ours = int((process / "stat").read_text().rpartition(")")[2].split()[1]) == first
    ours = ours and _runs_package((process / "cmdline").read_bytes().split(b"\0"))
    is_rank = b"LOCAL_RANK=1" in (process / "environ").read_bytes()
    return ours and not is_rank, ours and is_rank


def _runs_package(words: list[bytes]) -> bool:
    """Return whether a command is ``python -m lit_video ...``; the paths of others may have the name in them, too."""
    return any(flag == b"-m" and module.partition(b".")[0] == b"lit_video" for flag, module in pairwise(words))


def _full(folder: str, megabytes: int, *phases: str) -> Fault:
    """Return the fault of a small disk, filled to its last byte."""

    def inject(attempt: Attempt) -> None:
        with (attempt.sandbox.folder / folder / "filler").open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        os.write(file.fileno(), bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    return Fault(inject, REFUSED, phases, (folder, megabytes))


def _read_only(attempt: Attempt) -> None:
    """Make the folder of runs read-only for files opened from now on."""
    runs = attempt.sandbox.runs
    with tempfile.TemporaryDirectory() as aside:  # a mount that a run writes to cannot become read-only
        mount("mount", "--bind", runs, aside)
        mount("mount", "-o", "remount,bind,ro", aside)
        mount("mount", "--bind", aside, runs)
        mount("umount", aside)
    attempt.sandbox.mounts.append(runs)


def _limit_files(attempt: Attempt) -> None:
    """Limit files to 128 KB: a checkpoint has 160, a batch in shared memory less."""
    for pid in attempt.alive():
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 17, resource.RLIM_INFINITY))


def _limit_memory(attempt: Attempt) -> None:
    """Limit the first process's memory to its present size and a megabyte."""
    try:
        status = Path(f"/proc/{attempt.process.pid}/status").read_text()
        used = int(status.partition("VmData:")[2].split()[0]) << 10
        resource.prlimit(attempt.process.pid, resource.RLIMIT_DATA, (used + (1 << 20), resource.RLIM_INFINITY))
    except (OSError, IndexError):
        raise NotInjected from None


def _second_process(attempt: Attempt) -> list[str]:
    """Start the same command while the run is paused; it must be refused if the run holds the folder's lock."""
    paused = attempt.alive()
    for pid in paused:
        _kill(pid, signal.SIGSTOP)
    try:
        held = lock_held(attempt.run_dir)
        with Attempt(attempt.setting, attempt.sandbox) as second:
            status, err = second.wait(), second.words[1]
    finally:
        for pid in paused:
            _kill(pid, signal.SIGCONT)
    right = MISTAKE if held else DONE
    said = not held or len(re.findall("^error: .*another process is running it", err, re.M)) == 1
    return [] if status == right and said else [f"the second process ended with {status}: {err[-300:]}"]


def _jump(seconds: float) -> Fault:
    def inject(attempt: Attempt) -> None:
        attempt.sandbox.clock.write_text(str(seconds))

    return Fault(inject, (DONE,), ("training", "test"))


BUT_VALIDATION = tuple(name for name in PHASES if "validation" not in name)
# without memory for an exception, the interpreter or the system's loader (127) aborts
ABORTED = (FAILED, -signal.SIGABRT, -signal.SIGSEGV, 127)
FAULTS: dict[str, Fault] = {
    "SIGKILL": _signal(signal.SIGKILL, -signal.SIGKILL),
    "SIGTERM": _signal(signal.SIGTERM, TERMINATED),
    "SIGINT": _signal(signal.SIGINT, INTERRUPTED),
    "SIGUSR1": _signal(signal.SIGUSR1, PREEMPTED),
    "worker killed": Fault(_soon(lambda *process: _worker_or_rank(*process)[0]), (FAILED,), TESTED),
    "rank 1 killed": Fault(_soon(lambda *process: _worker_or_rank(*process)[1]), (FAILED,)),
    "run disk full": _full("runs", 16, *BUT_VALIDATION),
    "run disk read-only": Fault(_read_only, REFUSED, BUT_VALIDATION),
    "TMPDIR full": _full("tmp", 1, "imports", "training", "test"),
    "file size limited": Fault(_limit_files, REFUSED, ("imports", "training", "test", "writing")),
    "memory limited": Fault(_limit_memory, ABORTED, ("preparing data", *TESTED)),
    "clock a day ahead": _jump(86400.0),
    "clock a day back": _jump(-86400.0),
    "second process": Fault(_second_process, (DONE,), ("starting", "training", "test")),
    "wandb-core killed": Fault(_soon(lambda process, _: (process / "comm").read_text() == "wandb-core\n"), (DONE,)),
}


def flip(path: Path) -> None:
    """Change one byte inside the largest tensor."""
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
    content = bytearray(path.read_bytes())
    content[largest.header_offset + 256 + largest.file_size // 2] ^= 1
    path.write_bytes(content)


class _Trap:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def trap(path: Path) -> None:
    """Write a checkpoint that, if unpickled, runs code: it leaves a file ``sprung`` beside the folder ``runs``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith("data.pkl"))
    sandbox = next(parent.parent for parent in path.parents if parent.name == "runs")
    members[name] = pickle.dumps(_Trap(str(sandbox / "sprung")), protocol=2)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


HARMS: dict[str, Callable[[Path], Any]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\x9f\x00garbage\n" * (path.stat().st_size // 10 + 1)),
    "nested": lambda path: path.write_text("[" * 100_000),  # too deep to be read
    "a byte flipped": flip,
    "malicious": trap,
}
FILES = {"W&B folder": ("wandb/**/*",)}
STOPPED, FINISHED = ("stopped",), ("finished",)
# Damage to files of a run that stopped in training, or is finished.
DAMAGES: dict[str, tuple[str, ...]] = {
    **{f"last.ckpt {harm}": STOPPED for harm in ("truncated", "empty", "garbage", "malicious")},
    "last.ckpt: a byte flipped": STOPPED,
    **{f"{name} garbage": STOPPED + FINISHED for name in ("curves.csv", "W&B folder")},
    **{f"run.json {harm}": STOPPED + FINISHED for harm in ("truncated", "empty", "nested", "garbage")},
    **{f"predictions.npz {harm}": FINISHED for harm in ("truncated", "garbage")},
}


def damage(name: str, run_dir: Path) -> bool:
    """Damage files of a run; return whether there were any."""
    harm = next(each for each in HARMS if name.endswith(each))
    target = name.removesuffix(harm).rstrip(": ")
    files = [path for pattern in FILES.get(target, (target,)) for path in run_dir.glob(pattern) if path.is_file()]
    for path in files:
        HARMS[harm](path)
    return bool(files)
