"""Queue of runs on this machine: each run is a process with its GPUs or a share of the cores. Tables of run states."""

import logging
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple, get_args

from lit_video.errors import RunFailed, RunStopped, UserError
from lit_video.experiment.request import Run
from lit_video.launching.states import Observed, RunState, jobs_of, lock_held, observe
from lit_video.runs.folder import read_status
from lit_video.runs.lock import writable
from lit_video.settings.effects import picked
from lit_video.utils.messages import ASIDE
from lit_video.utils.parallel import EVERY, with_progress
from lit_video.utils.processes import (
    AGAIN,
    DONE,
    MISTAKE,
    PARENT,
    PREEMPTED,
    STATUS,
    handled_by,
    requeue,
    signal_in_words,
    usable_cores,
)
from lit_video.utils.text import TextTable, counted, plural, time_left

_logger = logging.getLogger(__name__)

Slot = Mapping[str, str]  # environment variables that give a run its GPUs or cores, for one run at a time
HERE: Slot = {}
# variables that a run must not inherit from the job or the process group that its queue runs in
FOREIGN = re.compile(
    r"SLURM_(?!CONF$).*|(SLURMD|SRUN|PMI|PMIX|OMPI|MASTER|TORCHELASTIC)_.*|(LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE"
)
ENDED = ("failed", "stopped", "preempted")
LEFT_ALONE = "runs elsewhere, left alone"
POLL = 0.2  # seconds between looks at the processes


def slots(jobs: int | None, gpus_per_run: int | None) -> list[Slot]:
    """Return the slots of a queue: at most ``jobs``, each with ``gpus_per_run`` (default 1) GPUs.

    On a machine without GPUs there are ``jobs`` (default 1) slots.
    """
    visible = visible_gpus()
    if gpus_per_run and len(visible) < gpus_per_run:
        raise UserError(f"--gpus-per-run {gpus_per_run}: this machine has {len(visible)} GPUs; give --jobs N on a CPU")

    if visible:
        width = gpus_per_run or 1
        starts = range(0, len(visible) - width + 1, width)
        return [{"CUDA_VISIBLE_DEVICES": ",".join(visible[start : start + width])} for start in starts[:jobs]]

    if not jobs or jobs == 1 or "OMP_NUM_THREADS" in os.environ:
        return [HERE] * (jobs or 1)
    threads = max(1, usable_cores() // jobs)
    return [{"OMP_NUM_THREADS": str(threads)}] * jobs


def visible_gpus() -> list[str]:
    """Return the GPUs that this process may use, by number or name."""
    import torch  # here, because importing torch takes seconds

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(count)))
    return visible.replace(" ", "").split(",")[:count]


def own_environment() -> dict[str, str]:
    """Return this process's variables without those of the job or process group around it."""
    return {key: value for key, value in os.environ.items() if not FOREIGN.fullmatch(key)}


class Attempt(NamedTuple):
    """A run with its slot and its first process (rank 0)."""

    run: Run
    slot: Slot
    process: subprocess.Popen[bytes]


def launch(command: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process without input that appends its output to a log."""
    with log.open("ab") as output:
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def reason(attempt: Attempt) -> str:
    """Return why a run ended without a result: its own message, a signal, or the last line of its log."""
    run = attempt.run
    status = read_status(run.folder)
    if status and status.state in ENDED and status.pid == attempt.process.pid:
        return status.message

    code = attempt.process.returncode
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"

    log = run.log.read_text(encoding="utf-8", errors="replace") if run.log.exists() else ""
    last_line = log.rstrip().rpartition("\n")[2].strip()
    return last_line or f"exit status {code}"


@dataclass
class Queue:
    """Queue of waiting and running runs."""

    slots: Sequence[Slot]
    say: Callable[[str], None]
    jobs: Mapping[str, str] = field(default_factory=dict)  # Slurm's queue, see launching.states.jobs_of
    missing: list[Run] = field(default_factory=list)  # runs without a result: failed, or run by another process
    at_checkpoint: list[Run] = field(default_factory=list)  # runs that a time limit or a signal of their own stopped
    stop: signal.Signals | None = None  # signal that stopped the queue
    _waiting: list[Run] = field(default_factory=list)
    _running: list[Attempt] = field(default_factory=list)

    def work(self, runs: Sequence[Run], watch: Callable[[], None] = lambda: None) -> None:
        """Run all runs in order, and call ``watch`` several times a second; a signal stops the runs."""
        self._waiting = list(runs)
        free_slots = list(self.slots)
        is_stopping = False
        with self._signals():
            while self._running or (self._waiting and not self.stop):
                while self._waiting and free_slots and not self.stop:
                    if self._start(self._waiting.pop(0), free_slots[0]):
                        free_slots.pop(0)

                for attempt in [*self._running]:
                    if attempt.process.poll() is not None:
                        self._running.remove(attempt)
                        free_slots.insert(0, attempt.slot)
                        self._ended(attempt)

                if self.stop and not is_stopping:
                    is_stopping = True
                    if self._running:
                        running = plural(len(self._running), "run")
                        self.say(f"{self.stop.name}: stopping {running} at the next checkpoint")
                watch()
                time.sleep(POLL)

    def leave(self, run: Run, detail: str) -> None:
        """Leave a run to the process or job that runs it."""
        self.missing.append(run)
        self.say(f"{run.name}: {LEFT_ALONE} ({detail})")

    def _start(self, run: Run, slot: Slot) -> bool:
        """Start a run in a slot; return False for a run that another process or job runs."""
        observed = observe(run.folder, self.jobs)
        if observed.active:
            self.leave(run, observed.detail)
            return False

        devices = f"GPU {slot['CUDA_VISIBLE_DEVICES']}, " if "CUDA_VISIBLE_DEVICES" in slot else ""
        self.say(f"{run.name}: starting ({devices}log {run.log})")
        environment = own_environment() | dict(slot) | {PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"}
        run.folder.mkdir(parents=True, exist_ok=True)
        self._running.append(Attempt(run, slot, launch(run.command, environment, run.log)))
        if self.stop:  # the signal came while the process was started
            self._send()
        return True

    def _ended(self, attempt: Attempt) -> None:
        """Report how a run ended; note it if it has no result."""
        run = attempt.run
        status = attempt.process.returncode

        if status == DONE:
            self.say(f"{run.name}: done")
        elif self.stop:
            self.say(f"{run.name}: stopped")
        elif status == PREEMPTED:
            self.at_checkpoint.append(run)
            self.say(f"{run.name}: stopped at a checkpoint: {reason(attempt)}")
        elif status == MISTAKE and lock_held(run.folder):  # another process started the run first
            self.leave(run, observe(run.folder, {}).detail)
        else:
            self.missing.append(run)
            self.say(f"{run.name}: FAILED: {reason(attempt)} (log {run.log})")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Forward stop signals to all runs; wait for all runs on exit."""

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
        """Forward USR1 and USR2; for other signals send SIGTERM, because a second SIGINT would end a run at once."""
        number = self.stop if self.stop in (signal.SIGUSR1, signal.SIGUSR2) else signal.SIGTERM
        for attempt in self._running:
            attempt.process.send_signal(number)


def run_here(command: str, runs: Sequence[Run], slots: Sequence[Slot], *, reuse: bool) -> None:
    """Run the unfinished ``runs`` on this machine, each in a process; messages begin with ``command``.

    Raises:
        UserError: a run cannot start as it is asked for; nothing was started.
        RunFailed: some runs have no result.
        RunStopped: a signal or a time limit stopped runs at checkpoints, and no other run failed.
    """
    if reuse and len(slots) > 1:
        raise UserError("--reuse: a row takes what a finished row has trained, so one runs at a time; give --jobs 1")

    waiting = unfinished(runs)
    queue = Queue(slots, _logger.info, jobs_of(waiting))
    told = time.monotonic()

    def tell() -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            _logger.info(_at_work(runs))

    queue.work(waiting, tell)
    _logger.info(counts(observed_runs(runs, {})))

    if queue.stop:
        raise _stopped(f"{command}: stopped by {signal_in_words(queue.stop)}", STATUS[queue.stop])

    missing = [run for run in queue.missing if observe(run.folder, {}).state != "done"]
    if missing:
        raise RunFailed(f"{command}: {len(missing) + len(queue.at_checkpoint)} runs have no result; {AGAIN}")
    if queue.at_checkpoint:
        stopped = plural(len(queue.at_checkpoint), "run")
        raise _stopped(f"{command}: {stopped} stopped at a checkpoint", PREEMPTED)


def _stopped(line: str, status: int) -> RunStopped:
    """Requeue a preempted Slurm job, tell the user, and return the error with which the command ends."""
    requeued = requeue() if status == PREEMPTED else ""
    end = "; ".join(filter(None, (line, requeued, AGAIN)))
    _logger.log(ASIDE, end)
    return RunStopped(end, status)


def unfinished(runs: Sequence[Run]) -> list[Run]:
    """Check all runs for mistakes; return the unfinished ones."""
    from lit_video.experiment.identity import FinishedRuns  # here, because importing torch takes seconds
    from lit_video.training.run import is_done

    finished = FinishedRuns()
    are_done = with_progress((is_done(run, finished) for run in runs), len(runs), "checked runs")
    remaining = [run for run, done in zip(runs, are_done, strict=True) if not done]
    for run in remaining:  # nothing is written before all are checked
        writable(run.folder)

    skipped = len(runs) - len(remaining)
    if skipped:
        _logger.info(f"{skipped} of {len(runs)} runs are finished, skipped")
    return remaining


def free(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that no process or Slurm job runs; print a line for each other run."""
    free_runs = list[Run]()
    for run, observed in zip(runs, observed_runs(runs), strict=True):
        if observed.active:
            _logger.info(f"{run.name}: {LEFT_ALONE} ({observed.detail})")
        else:
            free_runs.append(run)
    return free_runs


def progress_table(runs: Sequence[Run], observed: Sequence[Observed]) -> TextTable:
    """Return a line for each run: its state, progress, speed and the time that is left."""
    header = ["table", "row", "seed", "state", "progress", "clips/s", "data wait", "left", ""]
    body = []
    for run, observation in zip(runs, observed, strict=True):
        names = [run.request.table.name, run.row.name, str(run.seed)]
        body.append([*names, observation.state, *_progress(observation), observation.detail])
    return TextTable("", header, body)


def observed_runs(runs: Sequence[Run], jobs: Mapping[str, str] | None = None) -> list[Observed]:
    """Return the state of each run; ``jobs`` is Slurm's queue, asked for if ``None``."""
    queued = jobs_of(runs) if jobs is None else jobs
    return [observe(run.folder, queued) for run in runs]


def _at_work(runs: Sequence[Run]) -> str:
    """Return the number of runs per state, the time left for all of them, and the progress of running ones.

    The time is estimated from those of the running ones, if any is known.
    """
    observed = observed_runs(runs, {})
    running: list[str] = []
    waiting = 0
    times_left: list[float] = []
    longest = 0.0  # seconds of a whole run
    for run, observation in zip(runs, observed, strict=True):
        if observation.state != "running":
            waiting += observation.state not in ("done", "failed")
            continue

        progress, *_, time_text = _progress(observation)
        running.append(" ".join(filter(None, (run.name, observation.activity, progress, time_text))))
        status = observation.status
        if status and status.seconds_left:
            times_left.append(status.seconds_left)
            steps_left = max(1, status.steps - status.step)
            longest = max(longest, status.seconds_left * status.steps / steps_left)

    parts = [counts(observed)]
    if times_left:
        left = max(times_left) + longest * waiting / len(times_left)
        parts.append(f"about {time_left(left)} for all")
    return "; ".join([*parts, *running])


def counts(observed: Sequence[Observed]) -> str:
    """Return how many runs are in each state."""
    numbers: Counter[str] = Counter(observation.state for observation in observed)
    in_order = picked(numbers, get_args(RunState))
    return f"{len(observed)} runs: {', '.join(counted(in_order))}"


def _progress(observation: Observed) -> list[str]:
    """Return progress, clips per second, data wait and time left; empty where unknown."""
    status = observation.status
    if status is None or not status.steps or observation.state == "done":
        return [""] * 4

    progress = f"{status.step}/{status.steps} {100 * status.step // status.steps} %"
    speed = ""
    wait = ""
    remaining = ""
    if observation.state == "running" and status.state in ("training", "image model"):
        if status.clips_per_second:
            speed = f"{status.clips_per_second:.0f}"
            wait = f"{status.data_wait:.0f} %"
        if status.seconds_left:
            remaining = time_left(status.seconds_left)
    return [progress, speed, wait, remaining]
