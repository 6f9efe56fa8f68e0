"""Runs as people see them: a live table on a terminal, lines elsewhere; the queue of a command between them."""

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta
from functools import partial

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lit_video.errors import UserError
from lit_video.launching.queue import LEFT_ALONE, Place, Queue
from lit_video.launching.states import Observed, State, jobs_of, observe
from lit_video.launching.work import Run, rounds
from lit_video.utils.processes import requeue
from lit_video.utils.stop_signals import AGAIN, DONE, FAILED, PREEMPTED, STATUS

STYLES: dict[State, str] = {
    "running": "cyan",
    "queued": "",
    "preempted": "yellow",
    "failed": "red",
    "lost": "red",
    "stopped": "yellow",
    "done": "green",
    "not started": "dim",
}
# left out where the terminal has not enough lines
QUIET: tuple[State, ...] = ("done", "not started", "queued")
AROUND = 7  # lines of a table without rows, its counts and notes
WIDE = 140  # characters of a table in a file
ASK = 10.0  # seconds between questions to Slurm, which serves a whole cluster
TELL = 30.0  # seconds between lines about runs at work


def run_here(command: str, runs: Sequence[Run], left: Sequence[Run], places: Sequence[Place], reuse: bool) -> int:
    """Run what is left on this machine; returns the exit status, 0 if there is no run without a result.

    Args:
        command: its name, for messages.
        runs: all of the command, the finished ones too.
        left: runs without a result.
        places: where they run.
        reuse: whether runs that take over what others have trained come after these.

    Raises:
        UserError: some were given to Slurm, which does not answer.
    """
    console = Console()
    live = console.is_terminal
    queue = Queue(places, partial(console.print, markup=False, highlight=False) if live else say)
    mine, view = free(left, queue.say), View(runs, queue)
    with (
        Live(console=console, get_renderable=view.fitting, refresh_per_second=1, transient=True)
        if live
        else nullcontext()
    ):
        for together in rounds(mine) if reuse and len(places) > 1 else [mine]:
            queue.work(together, view.tell if not live else lambda: None)
            if queue.stop:
                break
    if live:
        console.print(view.table())
    else:
        say(counts(view.observed()))
    if queue.stop:
        requeued = requeue() if STATUS[queue.stop] == PREEMPTED else ""
        end = "; ".join(filter(None, [f"stopped by {queue.stop.name}", requeued, AGAIN]))
        print(f"{command}: {end}", file=sys.stderr, flush=True)
        return STATUS[queue.stop]
    elsewhere = [run for run in left if run not in mine]
    missing = [run for run in [*queue.missing, *elsewhere] if observe(run.folder, {}).state != "done"]
    if missing:
        print(f"{command}: {len(missing)} runs have no result; {AGAIN}", file=sys.stderr, flush=True)
    return FAILED if missing else DONE


def free(runs: Sequence[Run], say: Callable[[str], None]) -> list[Run]:
    """The runs that no process runs and Slurm does not have, with a line for each of the others.

    Raises:
        UserError: some were given to Slurm, which does not answer.
    """
    jobs = jobs_of(run.folder for run in runs)
    observed = [observe(run.folder, jobs) for run in runs]
    for run, each in zip(runs, observed, strict=True):
        if each.active:
            say(f"{run.name}: {LEFT_ALONE} ({each.detail})")
    return [run for run, each in zip(runs, observed, strict=True) if not each.active]


def show(runs: Sequence[Run]) -> int:
    """Print how far all runs are, once; on a terminal again and again, until Ctrl-C."""
    console, view = Console(), View(runs)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
        console.print(view.table())
        return DONE
    with suppress(KeyboardInterrupt), Live(console=console, get_renderable=view.fitting, refresh_per_second=1):
        while True:
            time.sleep(1)
    return DONE


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


class View:
    """Runs as they are, looked at now and then.

    Args:
        runs: runs of a command.
        queue: queue that runs them, if this process does.
    """

    def __init__(self, runs: Sequence[Run], queue: Queue | None = None) -> None:
        self.runs, self._queue = runs, queue
        self._printed, self._asked = time.monotonic(), -ASK
        self._jobs: dict[str, str] = {}
        self._note = ""

    def observed(self) -> list[Observed]:
        """Observe every run, and ask Slurm about them now and then."""
        if time.monotonic() - self._asked >= ASK:
            try:
                self._jobs, self._note = jobs_of(run.folder for run in self.runs), ""
            except UserError as error:
                self._jobs, self._note = {}, f"Slurm's queue is not known: {error}"
            self._asked = time.monotonic()
        if self._queue:
            return [self._queue.observe(run, self._jobs) for run in self.runs]
        return [observe(run.folder, self._jobs) for run in self.runs]

    def table(self, lines: int | None = None) -> Group:
        """The runs as a table with counts below; quiet ones are left out where a terminal has not enough lines."""
        pairs = list(zip(self.runs, observed := self.observed(), strict=True))
        whole = lines is None or len(pairs) + AROUND <= lines
        shown = [pair for pair in pairs if whole or pair[1].state not in QUIET]
        table = Table("table", "row", "seed", "state")
        for name in ("progress", "clips/s", "data wait", "left"):
            table.add_column(name, justify="right")
        table.add_column("", overflow="fold" if lines is None else "ellipsis", no_wrap=lines is not None)
        for run, each in shown:
            word = Text(each.state, STYLES[each.state])
            table.add_row(
                run.request.table.name, run.row.name, str(run.seed), word, *_progress(each), Text(each.detail)
            )
        hidden = f"{len(pairs) - len(shown)} runs are not shown" if len(shown) < len(pairs) else ""
        return Group(table, *map(Text, filter(None, [hidden, counts(observed), self._note])))

    def fitting(self) -> Group:
        """The table for a terminal."""
        return self.table(shutil.get_terminal_size().lines - 1)

    def tell(self) -> None:
        """Print how far the runs are, if that is some time ago."""
        if time.monotonic() - self._printed >= TELL:
            self._printed = time.monotonic()
            pairs = list(zip(self.runs, observed := self.observed(), strict=True))
            at_work = [(run.name, each.detail, _progress(each)[0]) for run, each in pairs if each.state == "running"]
            lines = [f"{name} {detail.partition(' ')[0]} {progress}".rstrip() for name, detail, progress in at_work]
            say("; ".join([counts(observed), *lines]))


def counts(observed: Sequence[Observed]) -> str:
    """How many runs are in which state."""
    by_state = Counter(each.state for each in observed)
    parts = [f"{by_state[state]} {state}" for state in STYLES if by_state[state]]
    return f"{len(observed)} runs: {', '.join(parts)}"


def _progress(each: Observed) -> tuple[str, str, str, str]:
    """Step of steps, clips per second, share that waits for data and time left, as far as they hold now."""
    status = each.status
    if status is None or not status.steps or each.state == "done":
        return "", "", "", ""
    progress = f"{status.step}/{status.steps} {100 * status.step // status.steps} %"
    if each.state != "running" or status.state != "training":
        return progress, "", "", ""
    left = str(timedelta(seconds=round(status.seconds_left))) if status.seconds_left else ""
    if not status.clips_per_second:
        return progress, "", "", left
    return progress, f"{status.clips_per_second:.0f}", f"{status.data_wait:.0f} %", left
