"""Folder of a run: one owner, errors of its disk."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EEXIST, EFBIG, EIO, ENOLCK, ENOSPC, ENOTDIR, EPERM, EROFS
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.runs.files import RUN
from lit_video.runs.results import read_result

REFUSALS = {ENOLCK, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EEXIST, ENOTDIR, EIO}


def writable(run_dir: Path) -> None:
    """Make the folder and try to write to it."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=run_dir) as file:
            file.write(bytes(1 << 20))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UserError(_refused(error, run_dir)) from error


@contextmanager
def owned(run_dir: Path, name: str) -> Iterator[None]:
    """Make the folder this process's alone; report a disk's refusal in one line, and rename a damaged result.

    The lock ends with the process. ``name`` is the run's, for messages.
    """
    writable(run_dir)
    try:
        with FileLock(run_dir / "lock", timeout=1):  # sweep --status touches it for an instant
            _set_damage_aside(run_dir)
            yield
    except Timeout:
        holder = f"another process is running it (it holds {run_dir / 'lock'})"
        raise UserError(f"{name}: {holder}; wait or stop it") from None
    except OSError as error:
        if error.errno not in REFUSALS:
            raise
        place = Path(str(error.filename)) if error.filename else run_dir
        if run_dir == place or run_dir in place.parents or place in run_dir.parents:
            raise UserError(_refused(error, place)) from error
        raise UserError(f"cannot write {place} ({error.strerror}); free it, or set TMPDIR to another folder") from error


def _refused(error: OSError, place: Path) -> str:
    return f"--runs: cannot write {error.filename or place} ({error.strerror}); free it or give another --runs"


def _set_damage_aside(run_dir: Path) -> None:
    try:
        read_result(run_dir)
    except UserError as error:
        if not (run_dir / RUN).exists():  # in a pack
            raise
        (run_dir / RUN).replace(run_dir / "run.damaged.json")
        print(f"{error}; renamed to run.damaged.json, measured again", flush=True)
