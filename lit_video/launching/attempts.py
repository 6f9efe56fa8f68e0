"""Processes of runs on this machine: started, and judged when they end."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from lit_video.launching.devices import Place
from lit_video.launching.work import Run
from lit_video.tables.status import Status, read_status, write_status
from lit_video.utils.processes import PARENT

# what would make a run take itself for a part of the job, or of the group of processes, that the sweep runs in
FOREIGN = ("SLURM_", "MASTER_", "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "WORLD_SIZE", "TORCHELASTIC_")
ENDED = ("failed", "stopped", "preempted")


@dataclass
class Attempt:
    """A run's process.

    Args:
        run: the run.
        place: where it runs.
        process: the first one of the run.
        step: of the training, before it was started.
        began: when, in seconds since 1970.
    """

    run: Run
    place: Place
    process: subprocess.Popen[bytes]
    step: int
    began: float

    @property
    def advanced(self) -> bool:
        """Whether the run came further than it was."""
        status = read_status(self.run.folder)
        return status is not None and status.step > self.step

    def reason(self) -> str:
        """Why it ended without a result; kept as the run's status, where the run could not say it itself."""
        code, status = self.process.returncode, read_status(self.run.folder)
        if status and status.state in ENDED and status.time >= self.began:
            return status.message
        message = f"killed by {signal.Signals(-code).name}" if code < 0 else last_line(self.run.log)
        message = message or f"exit status {code}"
        step, steps = (status.step, status.steps) if status else (0, 0)
        write_status(self.run.folder, Status("failed", step, steps, message=message))
        return message


def start(run: Run, place: Place, keep_log: bool) -> Attempt:
    """Start a run that ends with this process, its output added to its log, or printed where this process prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment = kept | dict(place.environment) | {PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
    status, began = read_status(run.folder), time.time()
    with contextlib.ExitStack() as stack:
        output = None
        if keep_log:
            run.folder.mkdir(parents=True, exist_ok=True)
            output = stack.enter_context(run.log.open("ab"))
        process = subprocess.Popen(run.command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    return Attempt(run, place, process, status.step if status else 0, began)


def last_line(path: Path) -> str:
    """The last line of a log that is not empty; nothing where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = deque((line.strip() for line in file.read().decode(errors="replace").splitlines()), 20)
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line), "")
