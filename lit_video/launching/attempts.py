"""Processes of runs on this machine: started, and judged when they end."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lit_video.launching.devices import Place
from lit_video.launching.work import Run
from lit_video.tables.status import Status, read_status, write_status
from lit_video.utils.processes import PARENT

# what would make a run take itself for a part of the job, or of the group of processes, that the sweep runs in
FOREIGN = re.compile(r"(SLURM_|MASTER_|TORCHELASTIC_).*|(LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE")
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
    """Start a run that ends with this process.

    With ``keep_log`` it is one of many, and its output is added to its log; else it takes this process's place: in its
    Slurm job, if it is in one, and where it prints.
    """
    environment = {key: value for key, value in os.environ.items() if not (keep_log and FOREIGN.fullmatch(key))}
    environment |= dict(place.environment) | {PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
    status, began = read_status(run.folder), time.time()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(run.log.open("ab")) if keep_log else None
        process = launch(run.command, environment, log)
    return Attempt(run, place, process, status.step if status else 0, began)


def launch(command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None) -> subprocess.Popen[bytes]:
    """Start a process that reads nothing, and prints to a file or where this one prints."""
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def last_line(path: Path) -> str:
    """The last line of a log that is not empty; nothing where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = deque((line.strip() for line in file.read().decode(errors="replace").splitlines()), 20)
    except OSError:
        return ""
    return next((line for line in reversed(lines) if line), "")
