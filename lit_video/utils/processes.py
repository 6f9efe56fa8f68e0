"""Processes of a run, which end when their parents end, and the Slurm job of a run."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from lit_video.errors import UserError

# environment variable with the id of a run's parent process; the run stops when the parent is gone
PARENT = "LIT_VIDEO_PARENT"

# SIGHUP says that the terminal has closed, unless nohup started this process
HANG_UP = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, *HANG_UP)


def usable_cores() -> int:
    """Return how many cores this process may use; in a job or a container perhaps fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def first_process() -> bool:
    """Return whether this is a run's only process, or rank 0."""
    ranks = map(os.environ.get, ("RANK", "LOCAL_RANK", "SLURM_PROCID"))
    return {*ranks} <= {None, "0"}


def started_by_lightning() -> bool:
    """Return whether Lightning started this process as a further rank; torchrun and Slurm start all ranks."""
    return not first_process() and not {"TORCHELASTIC_RUN_ID", "SLURM_PROCID"} & os.environ.keys()


def started_together() -> bool:
    """Return whether torchrun or Slurm started this process as one of several."""
    sizes = os.environ.get("WORLD_SIZE", "1"), os.environ.get("SLURM_NTASKS", "1")
    return sizes != ("1", "1") and not started_by_lightning()


def end_with(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """End this process when its ``parent`` is gone: a killed parent cannot stop its children."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), number)

    threading.Thread(target=watch, daemon=True).start()


def leave_terminal() -> None:
    """Discard output to a terminal that has closed, where every write fails."""
    for number in (1, 2):
        if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def end_with_starter() -> None:
    """End this process when its parent is gone: at once if that was rank 0, at a checkpoint if it was a sweep."""
    if started_by_lightning():
        end_with(os.getppid())
    elif os.environ.get(PARENT) == str(os.getppid()):
        end_with(os.getppid(), signal.SIGTERM)


def ignore_stops() -> None:
    """Ignore stop signals, which Slurm and terminals send to all processes; rank 0 handles them."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def end_children() -> None:
    """End the processes that this one has started."""
    for tasks in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for pid in tasks.read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)


def job_name() -> str:
    """Return the number of the Slurm job, with ``_TASK`` in a job array; empty outside Slurm."""
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        return f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ.get('SLURM_ARRAY_TASK_ID', '')}"
    return os.environ.get("SLURM_JOB_ID", "")


def requeue() -> str:
    """Requeue the Slurm job, and return a message. Slurm then ends this process.

    Nothing is done outside Slurm, or if the launcher, which requeues jobs itself, has set ``LIT_VIDEO_REQUEUE=0``.
    """
    job = job_name()
    if not job or os.environ.get("LIT_VIDEO_REQUEUE") == "0":
        return ""

    try:
        subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, timeout=30, check=True)
    except subprocess.CalledProcessError as error:
        return f"job {job} is not requeued: {error.stderr.strip()}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"job {job} is not requeued: {error}"
    return f"job {job} is requeued"


def refuse_output() -> None:
    """Raise the fault of standard output, if it has one: a pipe that was closed, or a full disk.

    A failed write leaves its text in the buffer, so that the next flush fails too. Call this before blaming a file.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserError(f"the output cannot be written: {error.strerror}") from None
