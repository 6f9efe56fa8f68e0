"""The folder that prepared videos go to: one process at a time, and what was broken is told."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lit_video.errors import UserError

_SHOWN = 10  # broken videos that are named on the terminal


@contextmanager
def filling(dst: Path) -> Iterator[None]:
    """Make a folder, and keep other processes from filling it.

    Raises:
        UserError: another process is, or it cannot be written.
    """
    try:
        dst.mkdir(parents=True, exist_ok=True)
        with FileLock(dst / ".prepare.lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"DST: another process is writing to {dst}; wait or stop it") from None
    except OSError as error:
        raise UserError(f"DST: cannot write {dst} ({error.strerror}); give another folder") from error


def told(broken: Mapping[str, str], listed: Path) -> int:
    """Print the broken videos, given with their reasons; the exit status, 1 where there are some."""
    if broken:
        lines = [f"  {name}: {reason}" for name, reason in list(broken.items())[:_SHOWN]]
        more = [f"  and {len(broken) - _SHOWN} more"] if len(broken) > _SHOWN else []
        print("\n".join([f"broken ({len(broken)}, listed in {listed}):", *lines, *more]))
    return 1 if broken else 0
