"""Runs on this machine: one queue, as many processes at a time as there are places."""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from lit_video.launching.attempts import Attempt, start
from lit_video.launching.devices import Place
from lit_video.launching.states import observe
from lit_video.launching.tickets import begun_ticket, drop_ticket, own_ticket, write_ticket
from lit_video.launching.work import Run
from lit_video.utils.exit_status import DONE, PREEMPTED
from lit_video.utils.stop_signals import handled_by

POLL = 0.2  # seconds between looks at the processes
STALLS = 3  # times that a preempted run is started again although it came no further


@dataclass
class Queue:
    """Runs that wait, and runs that run.

    Args:
        runs: in the order in which they start.
        places: where they run.
        tell: prints a line.
        keep_logs: whether what runs print goes to their ``log.txt``; else to where this process prints.
        failed: those that ended without a result.
        elsewhere: those that another process had begun.
        stop: the signal that stopped this.
    """

    runs: Sequence[Run]
    places: Sequence[Place]
    tell: Callable[[str], None]
    keep_logs: bool = True
    failed: list[Run] = field(default_factory=list)
    elsewhere: list[Run] = field(default_factory=list)
    stop: signal.Signals | None = None
    _running: list[Attempt] = field(default_factory=list)
    _stalls: Counter[str] = field(default_factory=Counter)

    def work(self, watch: Callable[[], None] = lambda: None) -> None:
        """Run all; a signal stops them, and is left in :attr:`stop`.

        Args:
            watch: called several times a second.
        """
        waiting, free, said = list(self.runs), list(self.places), False
        with self._tickets(), self._signals():
            while self._running or (waiting and not self.stop):
                while waiting and free and not self.stop:
                    run = waiting.pop(0)
                    if self._start(run, free[0]):
                        free.pop(0)
                for attempt in [each for each in self._running if each.process.poll() is not None]:
                    self._running.remove(attempt)
                    free.insert(0, attempt.place)
                    if self._goes_on(attempt):
                        waiting.insert(0, attempt.run)
                if self.stop and not said:
                    said = True
                    self.tell(f"{self.stop.name}: {len(self._running)} runs stop at their next checkpoints")
                watch()
                time.sleep(POLL)

    def _start(self, run: Run, place: Place) -> bool:
        """Start a run, unless another process has it by now."""
        drop_ticket(run.folder, own_ticket())
        observed = observe(run.folder, {})
        if observed.active:
            self.elsewhere.append(run)
            self.tell(f"{run.name}: {left_alone(observed.detail)}")
            return False
        where = ", ".join(filter(None, [place.name, f"log {run.log}" if self.keep_logs else ""]))
        self.tell(f"{run.name}: starting{f' ({where})' if where else ''}")
        attempt = start(run, place, self.keep_logs)
        self._running.append(attempt)
        write_ticket(run.folder, begun_ticket(attempt.process.pid))
        if self.stop:  # it came while the process was made
            self._send()
        return True

    def _goes_on(self, attempt: Attempt) -> bool:
        """Say how an attempt ended; whether the run is started again."""
        run, status = attempt.run, attempt.process.returncode
        if status == DONE:
            if self.keep_logs:
                self.tell(f"{run.name}: done")
            return False
        if self.stop:
            self.tell(f"{run.name}: stopped")
            return False
        self._stalls[run.name] = 0 if attempt.advanced else self._stalls[run.name] + 1
        if status == PREEMPTED and self._stalls[run.name] <= STALLS:
            self.tell(f"{run.name}: preempted, goes on")
            return True
        self.failed.append(run)
        reason = attempt.reason()
        if self.keep_logs:
            self.tell(f"{run.name}: FAILED: {reason}")
        return False

    @contextmanager
    def _tickets(self) -> Iterator[None]:
        """Say in the folders that the runs wait here."""
        mine = own_ticket()
        try:
            for run in self.runs:
                if not observe(run.folder, {}).active:
                    run.folder.mkdir(parents=True, exist_ok=True)
                    write_ticket(run.folder, mine)
            yield
        finally:
            for run in self.runs:
                drop_ticket(run.folder, mine)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Pass a signal that stops this process on to all runs, and wait for them however this ends."""

        def forward(number: int, frame: FrameType | None) -> None:
            self.stop = self.stop or signal.Signals(number)
            self._send()

        with handled_by(forward):
            try:
                yield
            finally:
                self._send()
                for attempt in self._running:
                    attempt.process.wait()

    def _send(self) -> None:
        """Stop the runs: by the signal that came, but for Ctrl-C, of which a second one would end them at once."""
        preempted = self.stop in (signal.SIGUSR1, signal.SIGUSR2)
        for attempt in self._running:
            attempt.process.send_signal(self.stop if self.stop and preempted else signal.SIGTERM)


def left_alone(detail: str) -> str:
    """The message for a run that another process runs or has in its queue."""
    return f"runs elsewhere, left alone ({detail})"
