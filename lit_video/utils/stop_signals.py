"""Signals that stop a run, at once or at its next checkpoint, and the exit statuses of commands."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from lit_video.utils.processes import STOP_SIGNALS, end_children, first_process, leave_terminal
from lit_video.utils.text import to_bytes

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
