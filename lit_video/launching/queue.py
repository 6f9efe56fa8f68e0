"""The queue of this machine: a process for each run, each on its GPUs or its share of the cores."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import FrameType

from lit_video.errors import UserError
from lit_video.launching.states import Observed, lock_held, observe
from lit_video.runs.status import Status, read_status, write_status
from lit_video.training.request import Run
from lit_video.utils.processes import PARENT, usable_cores
from lit_video.utils.stop_signals import DONE, MISTAKE, handled_by


@dataclass(frozen=True)
class Place:
    """A place for one run at a time."""

    name: str  # for messages; empty on a CPU
    environment: Mapping[str, str]  # variables of its runs


HERE = Place("", {})


def places(jobs: int | None, gpus_per_run: int | None) -> list[Place]:
    """Share out the GPUs: a place for each ``gpus_per_run`` (1) of them, at most ``jobs``; else ``jobs`` (1)."""
    found, each = gpus(), gpus_per_run or 1
    if gpus_per_run and len(found) < gpus_per_run:
        raise UserError(f"--gpus-per-run {gpus_per_run}: this machine has {len(found)} GPUs; give --jobs N on a CPU")
    if not found:
        return [Place("", _cores(jobs or 1))] * (jobs or 1)
    groups = [",".join(found[i : i + each]) for i in range(0, len(found) - each + 1, each)][:jobs]
    return [Place(f"GPU {group}", {"CUDA_VISIBLE_DEVICES": group}) for group in groups]


def gpus() -> list[str]:
    """Return the GPUs that this process may use, by number or name, without importing torch."""
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


# variables that a run must not inherit from the job or the process group that its queue runs in
FOREIGN = re.compile(r"(SLURM_|MASTER_|TORCHELASTIC_).*|(LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE")
ENDED = ("failed", "stopped", "preempted")


@dataclass
class Attempt:
    """A run's process, the first one of several."""

    run: Run
    place: Place
    process: subprocess.Popen[bytes]

    def reason(self) -> str:
        """Why the run ended without a result; written as its status where it could not do that itself."""
        from filelock import FileLock, Timeout

        code, status = self.process.returncode, read_status(self.run.folder)
        if status and status.state in ENDED and status.pid == self.process.pid:
            return status.message
        message = f"killed by {signal.Signals(-code).name}" if code < 0 else last_line(self.run.log)
        message = message or f"exit status {code}"
        step, steps = (status.step, status.steps) if status else (0, 0)
        with suppress(Timeout, OSError), FileLock(self.run.folder / "lock", timeout=0):
            write_status(self.run.folder, Status("failed", step, steps, message=message))
        return message


def start(run: Run, place: Place) -> Attempt:
    """Start a run that ends with this process, its output added to its log."""
    environment = {key: value for key, value in os.environ.items() if not FOREIGN.fullmatch(key)}
    environment |= dict(place.environment) | {PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
    run.folder.mkdir(parents=True, exist_ok=True)
    return Attempt(run, place, launch(run.command, environment, run.log))


def launch(command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process that reads nothing."""
    with log.open("ab") as output:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def last_line(path: Path) -> str:
    """Return the last line of a log that is not empty; an empty string without a log."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


LEFT_ALONE = "runs elsewhere, left alone"
POLL = 0.2  # seconds between looks at the processes


@dataclass
class Queue:
    """Runs that wait, and runs that run."""

    places: Sequence[Place]
    say: Callable[[str], None]
    missing: list[Run] = field(default_factory=list)  # runs without a result: failed, or run by another process
    stop: signal.Signals | None = None  # the signal that stopped this
    _waiting: list[Run] = field(default_factory=list)
    _running: list[Attempt] = field(default_factory=list)

    def work(self, runs: Sequence[Run], watch: Callable[[], None] = lambda: None) -> None:
        """Run all, in their order, calling ``watch`` several times a second; a signal stops them (:attr:`stop`)."""
        self._waiting, free, stopping = list(runs), list(self.places), False
        with self._signals():
            while self._running or (self._waiting and not self.stop):
                while self._waiting and free and not self.stop:
                    if self._start(self._waiting.pop(0), free[0]):
                        free.pop(0)
                for attempt in [each for each in self._running if each.process.poll() is not None]:
                    self._running.remove(attempt)
                    free.insert(0, attempt.place)
                    self._ended(attempt)
                if self.stop and not stopping:
                    stopping = True
                    self.say(f"{self.stop.name}: {len(self._running)} runs stop at their next checkpoints")
                watch()
                time.sleep(POLL)
        self._waiting = []  # the queue was stopped

    def observe(self, run: Run, jobs: Mapping[str, str]) -> Observed:
        """State of a run, also before it has its lock or its turn."""
        observed = observe(run.folder, jobs)
        if observed.active:
            return observed
        pid = observed.status.pid if observed.status else None
        if any(attempt.run == run and attempt.process.pid != pid for attempt in self._running):
            return Observed("running", "starting", observed.status, True)
        return Observed("queued", "", observed.status) if run in self._waiting else observed

    def leave(self, run: Run, detail: str) -> None:
        """Leave a run to the process or the job that has it."""
        self.missing.append(run)
        self.say(f"{run.name}: {LEFT_ALONE} ({detail})")

    def _start(self, run: Run, place: Place) -> bool:
        """Start a run, unless another process has it by now."""
        observed = observe(run.folder, {})
        if observed.active:
            self.leave(run, observed.detail)
            return False
        self.say(f"{run.name}: starting ({', '.join(filter(None, [place.name, f'log {run.log}']))})")
        self._running.append(start(run, place))
        if self.stop:  # the signal came while the process was started
            self._send()
        return True

    def _ended(self, attempt: Attempt) -> None:
        """Say how an attempt ended."""
        run, status = attempt.run, attempt.process.returncode
        if status == DONE:
            self.say(f"{run.name}: done")
        elif self.stop:
            self.say(f"{run.name}: stopped")
        elif status == MISTAKE and lock_held(run.folder):  # another process was quicker
            self.leave(run, observe(run.folder, {}).detail)
        else:
            self.missing.append(run)
            self.say(f"{run.name}: FAILED: {attempt.reason()} (log {run.log})")

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
