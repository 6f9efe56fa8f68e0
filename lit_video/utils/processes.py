"""Processes that end with those that started them. Imports no torch."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

# a process whose environment has this ends with the process of that number
PARENT = "LIT_VIDEO_PARENT"

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def first_process() -> bool:
    """Whether this is the only process of a run, or the one that owns its folder."""
    return all(os.environ.get(name, "0") == "0" for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))


def end_with(parent: int) -> None:
    """End this process when ``parent``, which started it, is gone: a killed parent cannot stop what it started."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def ignore_stops() -> None:
    """Leave signals that stop a run to its first process: Slurm and a terminal send them to all."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_children() -> None:
    """End the processes that this one has started."""
    for tasks in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for pid in tasks.read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)
