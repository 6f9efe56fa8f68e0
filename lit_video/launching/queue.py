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
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.launching.states import Observed, lock_held, observe
from lit_video.runs.status import Status, read_status, write_status
from lit_video.training.request import Run
from lit_video.utils.processes import PARENT, usable_cores
from lit_video.utils.stop_signals import DONE, MISTAKE, handled_by
from lit_video.utils.text import plural

Place = Mapping[str, str]  # variables of the environment for one run at a time
HERE: Place = {}


def places(jobs: int | None, gpus_per_run: int | None) -> list[Place]:
    """Share out the GPUs: a place for each ``gpus_per_run`` (1) of them, at most ``jobs``; else ``jobs`` (1)."""
    found, each = gpus(), gpus_per_run or 1
    if gpus_per_run and len(found) < gpus_per_run:
        raise UserError(f"--gpus-per-run {gpus_per_run}: this machine has {len(found)} GPUs; give --jobs N on a CPU")
    if found:
        groups = [",".join(found[i : i + each]) for i in range(0, len(found) - each + 1, each)]
        return [{"CUDA_VISIBLE_DEVICES": group} for group in groups[:jobs]]
    if not jobs or jobs == 1 or "OMP_NUM_THREADS" in os.environ:
        return [HERE] * (jobs or 1)
    return [{"OMP_NUM_THREADS": str(max(1, usable_cores() // jobs))}] * jobs


def gpus() -> list[str]:
    """Return the GPUs that this process may use, by number or name, without importing torch."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return list(takewhile(lambda name: name not in {"", "-1"}, visible.replace(" ", "").split(",")))
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [str(i) for i in range(sum(line.startswith("GPU ") for line in done.stdout.splitlines()))]


# variables that a run must not inherit from the job or the process group that its queue runs in
FOREIGN = re.compile(r"(SLURM_|MASTER_|TORCHELASTIC_).*|(LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE")
ENDED = ("failed", "stopped", "preempted")


class Attempt(NamedTuple):
    """A run's process, the first one of several."""

    run: Run
    place: Place
    process: subprocess.Popen[bytes]


def launch(command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process that reads nothing."""
    with log.open("ab") as output:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def reason(attempt: Attempt) -> str:
    """Return why a run ended without a result; write it as its status where the run could not do that itself."""
    from filelock import FileLock, Timeout

    run, code, status = attempt.run, attempt.process.returncode, read_status(attempt.run.folder)
    if status and status.state in ENDED and status.pid == attempt.process.pid:
        return status.message
    log = run.log.read_text(encoding="utf-8", errors="replace") if run.log.exists() else ""
    last = log.rstrip().rpartition("\n")[2].strip() or f"exit status {code}"
    message = f"killed by {signal.Signals(-code).name}" if code < 0 else last
    step, steps = (status.step, status.steps) if status else (0, 0)
    with suppress(Timeout, OSError), FileLock(run.folder / "lock", timeout=0):
        write_status(run.folder, Status("failed", step, steps, message=message))
    return message


LEFT_ALONE = "runs elsewhere, left alone"
POLL = 0.2  # seconds between looks at the processes


@dataclass
class Queue:
    """Runs that wait, and runs that run."""

    places: Sequence[Place]
    say: Callable[[str], None]
    jobs: Mapping[str, str] = field(default_factory=dict)  # Slurm's, see :func:`~lit_video.launching.states.jobs_of`
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
                    if self._running:
                        running = plural(len(self._running), "run")
                        self.say(f"{self.stop.name}: stopping {running} at the next checkpoint")
                watch()
                time.sleep(POLL)

    def observe(self, run: Run) -> Observed:
        """Return the state of a run, also before its turn, and before its process has its lock."""
        observed = observe(run.folder, {})
        if observed.active or observed.state == "done":
            return observed
        if any(attempt.run == run for attempt in self._running):
            return Observed("running", "starting", observed.status, True)
        return Observed("queued", status=observed.status) if run in self._waiting else observed

    def leave(self, run: Run, detail: str) -> None:
        """Leave a run to the process or the job that has it."""
        self.missing.append(run)
        self.say(f"{run.name}: {LEFT_ALONE} ({detail})")

    def _start(self, run: Run, place: Place) -> bool:
        """Start a run, unless another process has it by now."""
        observed = observe(run.folder, self.jobs)
        if observed.active:
            self.leave(run, observed.detail)
            return False
        devices = place.get("CUDA_VISIBLE_DEVICES")
        self.say(f"{run.name}: starting ({f'GPU {devices}, ' if devices else ''}log {run.log})")
        environment = {key: value for key, value in os.environ.items() if not FOREIGN.fullmatch(key)}
        environment |= dict(place) | {PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
        run.folder.mkdir(parents=True, exist_ok=True)
        self._running.append(Attempt(run, place, launch(run.command, environment, run.log)))
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
            self.say(f"{run.name}: FAILED: {reason(attempt)} (log {run.log})")

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
