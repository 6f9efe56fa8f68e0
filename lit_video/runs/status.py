"""State of a run that is at work, waits or ended without a result."""

import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, get_args

from lit_video.errors import UserError
from lit_video.runs.folder import read_run, update_run
from lit_video.utils.processes import job_name

Running = Literal["starting", "image model", "preparing data", "training", "testing", "writing"]
State = Literal[Running, "queued", "preempted", "stopped", "failed"]
RUNNING: tuple[State, ...] = get_args(Running)


@dataclass(frozen=True)
class Status:
    """State of a run; numbers are 0 while unknown.

    ``queued``: in Slurm's queue. Without a result: ``preempted`` (resumes by itself or by the same command),
    ``stopped`` (Ctrl-C or SIGTERM), ``failed`` (an error).
    """

    state: State
    step: int = 0  # optimizer step
    steps: int = 0  # in the whole training
    clips_per_second: float = 0.0
    seconds_left: float = 0.0  # until training ends
    data_wait: float = 0.0  # percent of the training time spent waiting for data
    message: str = ""  # why the run ended, in one line
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)  # rank 0
    job: str = field(default_factory=job_name)  # Slurm's job number
    time: float = field(default_factory=time.time)  # time of writing, in seconds since 1970


def write_status(run_dir: Path, status: Status) -> None:
    """Write the state atomically; a failure to write must not stop the run."""
    try:
        update_run(run_dir, state=asdict(status))
    except (OSError, MemoryError, UserError):
        return


def read_status(run_dir: Path) -> Status | None:
    """Read the last state; ``None`` if missing or unreadable."""
    with suppress(Exception):  # a damaged file can raise anything
        status = Status(**read_run(run_dir)["state"])
        if status.state in get_args(State):
            return status
    return None
