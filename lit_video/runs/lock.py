"""Lock of a run's folder, so that one process at a time trains in it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EEXIST, EFBIG, EIO, ELOOP, ENOENT, ENOLCK, ENOSPC, ENOTDIR, EPERM, EROFS
from pathlib import Path
from tempfile import TemporaryFile

from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.runs.folder import RUN, read_finished
from lit_video.utils.processes import refuse_output

_logger = logging.getLogger(__name__)

REFUSALS = {ENOLCK, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EEXIST, ENOTDIR, EIO, ELOOP}


def writable(run_dir: Path) -> None:
    """Make a run's folder; refuse it if it cannot be written to."""
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
    """Make and lock a run's folder; report disk errors in one line, and rename a damaged result."""
    writable(run_dir)
    try:
        with FileLock(run_dir / "lock", timeout=1):  # wait, because sweep --status holds the lock for an instant
            try:
                read_finished(run_dir)
            except UserError as error:
                if not (run_dir / RUN).exists():  # the result is in a pack
                    raise
                (run_dir / RUN).replace(run_dir / "run.damaged.json")
                _logger.info(f"{error}; renamed to run.damaged.json, measured again")
            yield

    except Timeout:
        holder = f"another process is running it (it holds {run_dir / 'lock'})"
        raise UserError(f"{name}: {holder}; wait or stop it") from None

    except OSError as error:
        refuse_output()
        removed = error.errno == ENOENT and Path(error.filename or "").is_relative_to(run_dir)
        if error.errno not in REFUSALS and not removed:
            raise
        raise UserError(_refused(error, run_dir)) from error


def _refused(error: OSError, run_dir: Path) -> str:
    advice = "mend that, give another --runs, or set TMPDIR"
    return f"--runs: cannot write {error.filename or run_dir} ({error.strerror}); {advice}"
