"""Processes of a run, which end when their parents end; its Slurm job, signals that stop it, and its exit status."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from lit_video.errors import UserError
from lit_video.utils.text import to_bytes

# environment variable with the id of a run's parent process; the run stops when the parent is gone
PARENT = "LIT_VIDEO_PARENT"

# SIGHUP says that the terminal has closed, unless nohup started this process
HANG_UP = [] if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else [signal.SIGHUP]
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, *HANG_UP)
DONE = 0  # every result that was asked for is there
FAILED = 1  # a run or a table's row ended without a result: for example a value was not finite, or a process died
MISTAKE = 2  # something to change in the command, a file or the disk; one line says what
PREEMPTED = 75  # stopped at a checkpoint by USR1, USR2 or a time limit; the same command goes on (EX_TEMPFAIL)
INTERRUPTED = 130  # Ctrl-C; the same command goes on
CLOSED = 141  # SIGPIPE: nobody reads the output any more
HUNG_UP = 129  # SIGHUP: the terminal was closed; the same command goes on
TERMINATED = 143  # SIGTERM; the same command goes on

STATUS = {
    signal.SIGINT: INTERRUPTED,
    signal.SIGTERM: TERMINATED,
    signal.SIGHUP: HUNG_UP,
    signal.SIGUSR1: PREEMPTED,
    signal.SIGUSR2: PREEMPTED,
}
AGAIN = "the same command again goes on from here"


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


def signal_in_words(stop: signal.Signals) -> str:
    """Return a signal as a user knows it."""
    return "Ctrl-C" if stop is signal.SIGINT else stop.name


class StopSignals:
    """Handler of the signals that stop a run: SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2.

    Before training there is nothing to keep, so a signal ends the run at once, after ``last_words``. The process of a
    command prints a line and ends, because an exception could be swallowed; a program or notebook that called a
    function gets a ``KeyboardInterrupt``. In training, :attr:`waits` is set: then the signal is only stored in
    ``received``, and the training stops at its next checkpoint. A second Ctrl-C ends the run even then.
    """

    ends_process = False  # True in the process of a command, see :func:`process_of_command`

    def __init__(self, name: str) -> None:
        self.name = name
        self.waits = False
        self.received: signal.Signals | None = None
        # called before the process ends at once
        self.last_words: Callable[[signal.Signals, str], None] | None = None
        self._pid = os.getpid()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """End the process, or remember the signal."""
        if os.getpid() != self._pid:
            return  # a forked process inherited the handler; its parent decides
        stop = signal.Signals(number)
        if self.waits and (self.received is None or stop is not signal.SIGINT):
            if self.received is None:
                self.received = stop
                self._say(f"{self.name}: {signal_in_words(stop)}, stopping at the next checkpoint")
            return
        self.end(stop)

    def end(self, stop: signal.Signals) -> None:
        """End the process now, or the function that was called in it."""
        line = f"stopped by {signal_in_words(stop)}; {AGAIN}"
        self._say(f"{self.name}: {line}")
        if self.last_words:
            self.last_words(stop, line)
        if not StopSignals.ends_process:
            raise KeyboardInterrupt(line)
        end_children()
        with suppress(OSError):  # a full disk
            sys.stdout.flush()
        os._exit(STATUS[stop])

    def _say(self, line: str) -> None:
        """Write one line from rank 0; do not call print, because the signal may have interrupted it."""
        if first_process():
            os.write(2, to_bytes(f"{line}\n"))


@contextmanager
def process_of_command() -> Iterator[None]:
    """Let stop signals end this process, which runs a command, in a block."""
    before = StopSignals.ends_process
    StopSignals.ends_process = True
    try:
        yield
    finally:
        StopSignals.ends_process = before


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a handler of the stop signals for a block; do nothing outside the main thread, as Python requires."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_terminal()
        handler(number, frame)

    before = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, taken in before.items():
            signal.signal(number, taken)
