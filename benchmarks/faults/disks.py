"""Small, full and read-only disks, by mounts: needs root."""

import errno
import os
import subprocess
import tempfile
from pathlib import Path


def run_mount(*command: object) -> None:
    """Run ``mount`` or ``umount``.

    Raises:
        OSError: it is not allowed, or failed.
    """
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())


def small_disk(folder: Path, megabytes: int) -> None:
    """Mount a small disk on a folder."""
    run_mount("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder)


def read_only(folder: Path) -> None:
    """Make a folder read-only for all that is opened from now on."""
    with tempfile.TemporaryDirectory() as aside:  # a mount that a run writes to cannot become read-only
        run_mount("mount", "--bind", folder, aside)
        run_mount("mount", "-o", "remount,bind,ro", aside)
        run_mount("mount", "--bind", aside, folder)
        run_mount("umount", aside)


def unmount(folder: Path) -> None:
    """Take away the last mount of a folder, even if it is in use."""
    run_mount("umount", "-l", folder)


def fill(folder: Path) -> None:
    """Write to a small disk until nothing fits any more."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    os.write(file.fileno(), bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def may_mount() -> bool:
    """Whether this process may mount disks."""
    folder = Path("/tmp") / f".lit_video_mount{os.getpid()}"
    folder.mkdir(exist_ok=True)
    try:
        small_disk(folder, 1)
        unmount(folder)
    except OSError:
        return False
    finally:
        folder.rmdir()
    return True
