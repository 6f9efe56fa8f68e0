"""State of a run in its ``run.json``, for launchers and ``sweep --status``."""

import os
import socket
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lit_video.errors import UserError
from lit_video.runs.files import read_run, update_run
from lit_video.utils.processes import job_name

State = Literal[
    "queued",
    "starting",
    "image model",
    "preparing data",
    "training",
    "testing",
    "writing",
    "preempted",
    "stopped",
    "failed",
]
RUNNING: tuple[State, ...] = ("starting", "image model", "preparing data", "training", "testing", "writing")


@dataclass(frozen=True)
class Status:
    """State of a run; numbers are 0 while unknown.

    ``queued``: Slurm has it. The last three are ends without a result: ``preempted`` resumes by itself or by the same
    command, ``stopped`` by Ctrl-C or SIGTERM, ``failed`` by an error.
    """

    state: State
    step: int = 0  # optimizer step
    steps: int = 0  # in the whole training
    clips_per_second: float = 0.0
    seconds_left: float = 0.0  # until training ends
    data_wait: float = 0.0  # percent of the training's time
    message: str = ""  # why it ended, in a line
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)  # the first process
    job: str = field(default_factory=job_name)  # Slurm's
    time: float = field(default_factory=time.time)  # when it was written, in seconds since 1970


def write_status(run_dir: Path, status: Status) -> None:
    """Write the state, whole or not at all. A disk that refuses it, or full memory, stops no run."""
    try:
        update_run(run_dir, state=asdict(status))
    except (OSError, MemoryError, UserError):
        return


def read_status(run_dir: Path) -> Status | None:
    """Read the state last written; ``None`` if there is none, or it cannot be read."""
    try:
        status = Status(**read_run(run_dir)["state"])
    except Exception:  # a damaged file can raise anything
        return None
    return status if status.state in get_args(State) else None
