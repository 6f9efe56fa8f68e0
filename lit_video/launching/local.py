"""Runs on this machine: places (GPUs, or shares of the cores), one process a run, and the queue that fills them."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import FrameType
from typing import IO

from lit_video.errors import UserError
from lit_video.launching.states import begun_ticket, drop_ticket, observe, own_ticket, write_ticket
from lit_video.launching.work import Run
from lit_video.tables.status import Status, read_status, write_status
from lit_video.utils.processes import PARENT, usable_cores
from lit_video.utils.stop_signals import DONE, PREEMPTED, handled_by


@dataclass(frozen=True)
class Place:
    """A place for one run at a time.

    Args:
        name: for messages; empty on a CPU.
        environment: variables of its runs.
    """

    name: str
    environment: Mapping[str, str]


HERE = Place("", {})


def places(jobs: int | None, gpus_per_run: int | None) -> list[Place]:
    """Share out the GPUs: a place for each ``gpus_per_run`` of them (1), at most ``jobs``; without a GPU, ``jobs`` (1).

    Raises:
        UserError: there are not enough GPUs for a run.
    """
    found, each = gpus(), gpus_per_run or 1
    if gpus_per_run and len(found) < gpus_per_run:
        raise UserError(f"--gpus-per-run {gpus_per_run}: this machine has {len(found)} GPUs; give --jobs N on a CPU")
    if not found:
        return [Place("", _cores(jobs or 1))] * (jobs or 1)
    groups = [",".join(found[i : i + each]) for i in range(0, len(found) - each + 1, each)][:jobs]
    return [Place(f"GPU {group}", {"CUDA_VISIBLE_DEVICES": group}) for group in groups]


def gpus() -> list[str]:
    """Numbers or names of the GPUs that this process may use, found without importing torch."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return list(takewhile(lambda name: name not in {"", "-1"}, visible.replace(" ", "").split(",")))
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [str(i) for i in range(sum(line.startswith("GPU ") for line in done.stdout.splitlines()))]


def _cores(jobs: int) -> dict[str, str]:
    if jobs == 1 or "OMP_NUM_THREADS" in os.environ:
        return {}
    return {"OMP_NUM_THREADS": str(max(1, usable_cores() // jobs))}


# variables that a run must not inherit from the job or the process group that the sweep runs in
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
        """Why the run ended without a result; kept as its status where it could not write that itself."""
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
