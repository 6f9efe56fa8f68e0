"""State of a run, which it writes while it trains and other processes read."""

from contextlib import suppress
from pathlib import Path
from typing import get_args

from lit_video.errors import UserError
from lit_video.runs.folder import read_record, update_record
from lit_video.runs.record import Running, State, Status

RUNNING: tuple[State, ...] = get_args(Running)


def write_status(run_dir: Path, status: Status) -> None:
    """Write the state atomically; a failure to write must not stop the run."""
    try:
        update_record(run_dir, state=status)
    except (OSError, MemoryError, UserError):
        return


def read_status(run_dir: Path) -> Status | None:
    """Read the last state; ``None`` if missing or unreadable."""
    with suppress(Exception):  # a damaged file can raise anything
        return read_record(run_dir).state
    return None
