"""Disks: of the runs, of temporary files, and the memory that workers share."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from lit_video.diagnosis.devices import allowed_cores
from lit_video.diagnosis.finding import Finding

GB = 2**30
RUNS_FULL, RUNS_LOW = 1 * GB, 20 * GB  # a ViT-B's two checkpoints take 2 GB, with SGD's or Adam's state
SHARED_LOW = 1 * GB
BATCH = 8 * 16 * 3 * 224 * 224  # bytes of 8 clips of 16 frames; every worker has two such batches in shared memory
KINDS = {
    "nfs": "locks and renames may be slow or unsafe with old NFS: see the findings below",
    "nfs4": "slow for many small files: keep data and TMPDIR on a local disk",
    "tmpfs": "it is memory, and gone after a restart: give another --runs",
    "ramfs": "it is memory, and gone after a restart: give another --runs",
    "overlay": "of a container, and gone with it: mount a folder of the machine's, give that as --runs",
}


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that there is."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def free(path: Path) -> float:
    """Bytes that may be written there."""
    found = os.statvfs(path)
    return float(found.f_bavail * found.f_frsize)


def kind(path: Path) -> str:
    """The kind of file system, such as ``ext4``; empty if it is not known."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    places = [(place.replace("\\040", " "), name) for _, place, name, *_ in mounts]
    above = [(len(place), name) for place, name in places if path.resolve().is_relative_to(place)]
    return max(above, key=lambda each: each[0], default=(0, ""))[1]  # the last of equals would be on top


def check_runs(runs: Path) -> Iterator[Finding]:
    """The folder of the runs: space, kind, and whether locks and renames work."""
    folder = existing(runs)
    space, system = free(folder), kind(folder)
    text = f"{runs}: {space / GB:.1f} GB free on {system or 'an unknown file system'}"
    if space < RUNS_FULL:
        yield Finding(
            "problem", "runs", text, "free some, or give another --runs: a run writes gigabytes of checkpoints"
        )
    elif space < RUNS_LOW:
        yield Finding(
            "warning", "runs", text, "enough for small models; ViT-B keeps 2 GB of checkpoints per row and seed"
        )
    elif system in KINDS:
        yield Finding("warning", "runs", text, KINDS[system])
    else:
        yield Finding("ok", "runs", text)
    if os.statvfs(folder).f_files and os.statvfs(folder).f_favail < 10_000:
        yield Finding("problem", "runs", f"{folder} has no room for more files (inodes)", "delete small files there")
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as place:
            yield _lock(Path(place), folder)
            yield _rename(Path(place), folder)
    except OSError as error:
        yield Finding("problem", "runs", f"{folder} cannot be written ({error.strerror})", "give another --runs")


def _lock(place: Path, folder: Path) -> Finding:
    advice = "two processes could take one run: give a --runs on a file system with locks (mount NFS with them)"
    try:
        with FileLock(place / "lock", timeout=0):
            try:
                with FileLock(place / "lock", timeout=0):
                    return Finding("problem", "locks", f"in {folder} a lock does not keep others out", advice)
            except (Timeout, RuntimeError):  # newer versions see a second lock of the same process
                return Finding("ok", "locks", f"work in {folder}")
    except OSError as error:
        return Finding("problem", "locks", f"in {folder} there are none ({error.strerror})", advice)


def _rename(place: Path, folder: Path) -> Finding:
    """As checkpoints are written: beside the target, to the disk, renamed, the folder to the disk."""
    try:
        (place / "target").write_bytes(b"old")
        with (place / "part").open("wb") as file:
            file.write(b"new")
            file.flush()
            os.fsync(file.fileno())
        (place / "part").replace(place / "target")
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        whole = (place / "target").read_bytes() == b"new"
    except OSError as error:
        return Finding("problem", "renames", f"in {folder}: {error.strerror}", "give another --runs")
    if whole:
        return Finding("ok", "renames", f"replace files in {folder}, and reach the disk")
    return Finding("problem", "renames", f"in {folder} do not replace a file", "give another --runs")


def check_temporary() -> Iterator[Finding]:
    """The folder of temporary files."""
    try:
        folder = Path(tempfile.gettempdir())
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
            file.flush()
    except OSError as error:
        advice = "set TMPDIR to a folder that can be written; free it if it is full"
        yield Finding("problem", "TMPDIR", f"cannot be written ({error.strerror or error})", advice)
        return
    text = f"{folder}: {free(folder) / GB:.1f} GB free"
    if free(folder) < GB:
        yield Finding("warning", "TMPDIR", text, "set TMPDIR to a folder with more room")
    else:
        yield Finding("ok", "TMPDIR", text)


def check_shared_memory(place: Path = Path("/dev/shm")) -> Iterator[Finding]:
    """The memory in which workers hand over their batches."""
    if not place.is_dir():
        yield Finding("warning", "/dev/shm", "not there", "workers may fail: mount it, or --data.num_workers 0")
        return
    space, needed = free(place), max(SHARED_LOW, 2 * allowed_cores() * BATCH)
    text = f"{space / GB:.1f} GB free for the workers' batches"
    if space < needed:
        advice = (
            f"at least {needed / GB:.1f} GB for a worker per core (docker: --shm-size), or fewer --data.num_workers"
        )
        yield Finding("warning", "/dev/shm", text, advice)
    else:
        yield Finding("ok", "/dev/shm", text)
