"""A sweep as people see it: a live table with a bar on a terminal, lines elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lit_video.errors import UserError
from lit_video.launching.local import Place, Queue, left_alone
from lit_video.launching.states import Job, Observed, State, jobs_of, observe
from lit_video.launching.work import Run
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
# what is left out first where the terminal has not enough lines
QUIET: tuple[State, ...] = ("done", "not started", "queued")


def state_table(runs: Sequence[Run], observed: Sequence[Observed], note: str = "", lines: int | None = None) -> Group:
    """The runs as a table with counts below.

    Args:
        runs: of the sweep.
        observed: what each of them is doing.
        note: a line below.
        lines: of the terminal; runs that are done or wait are left out where there are more.
    """
    pairs = list(zip(runs, observed, strict=True))
    shown = pairs
    for state in QUIET:
        if lines is not None and len(shown) > lines - 7:
            shown = [pair for pair in shown if pair[1].state != state]
    table = Table("table", "row", "seed", "state")
    for name in ("progress", "clips/s", "data wait", "left"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold" if lines is None else "ellipsis", no_wrap=lines is not None)
    for run, each in shown:
        word = Text(each.state, STYLES[each.state])
        table.add_row(run.request.table.name, run.row.name, str(run.seed), word, *_progress(each), Text(each.detail))
    hidden = [f"{len(pairs) - len(shown)} runs are not shown"] if len(shown) < len(pairs) else []
    return Group(table, *map(Text, filter(None, [*hidden, counts(observed), note])))


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


EARLY = 0.01  # of a run; before, its pace says little


class Overall:
    """The runs of this command, from its start.

    Args:
        observed: what each is doing as the command starts.
        clock: in seconds.
    """

    def __init__(self, observed: Sequence[Observed], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began, self._before = clock(), runs_done(observed)

    def seconds_left(self, observed: Sequence[Observed]) -> float | None:
        """At the pace since the start, with all runs taken for equally long; ``None`` before there is a pace."""
        done = runs_done(observed)
        gained = done - self._before
        if gained < EARLY:
            return None
        return (len(observed) - done) * (self._clock() - self._began) / gained

    def line(self, observed: Sequence[Observed]) -> str:
        """For a file, or a terminal without a live picture."""
        seconds = self.seconds_left(observed)
        left = f", about {timedelta(seconds=round(seconds))} left" if seconds else ""
        return f"{whole_runs(observed)} of {len(observed)} runs done{left}"

    def bar(self, observed: Sequence[Observed]) -> Table:
        """The same as a bar, one line high."""
        grid = Table.grid(padding=(0, 1))
        grid.add_row(ProgressBar(len(observed), runs_done(observed), width=40), self.line(observed))
        return grid


def whole_runs(observed: Sequence[Observed]) -> int:
    """Runs that have a result."""
    return sum(each.state == "done" for each in observed)


def runs_done(observed: Sequence[Observed]) -> float:
    """Runs that have a result, and the parts of those that train or have stopped."""
    return sum(1.0 if each.state == "done" else _part(each) for each in observed)


def _part(each: Observed) -> float:
    if each.status is None or not each.status.steps:
        return 0.0
    return min(each.status.step / each.status.steps, 1.0)


REFRESH = 1.0  # seconds between tables on a terminal
ASK = 10.0  # seconds between questions to Slurm, which serves a whole cluster
WIDE = 140  # characters of a table in a file


def run_here(runs: Sequence[Run], left: Sequence[Run], here: Sequence[Place]) -> int:
    """Run what is left on this machine, with a live table on a terminal and a line per change elsewhere."""
    console = Console(stderr=True)
    queue = Queue(left, here, console.print if console.is_terminal else tell)
    observed = work(queue, runs, console)
    if console.is_terminal:
        console.print(state_table(runs, observed))
    else:
        tell(counts(observed))
    if queue.stop:
        requeued = requeue() if STATUS[queue.stop] == PREEMPTED else ""
        tell("; ".join(filter(None, [f"sweep: stopped by {queue.stop.name}", requeued, AGAIN])))
        return STATUS[queue.stop]
    return DONE if all(each.state == "done" for each in observed) else FAILED


def work(queue: Queue, runs: Sequence[Run], console: Console, rounds: Sequence[Sequence[Run]] = ()) -> list[Observed]:
    """Run a queue, and show how far all runs are: live on a terminal, a line when one ends elsewhere.

    Args:
        queue: of the runs that are left.
        runs: all of them, the finished ones too.
        console: of the live picture.
        rounds: what the queue runs, one after the other; by default what is in it.

    Returns:
        What each run is doing in the end.
    """
    view = View(runs)
    with Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else nullcontext() as live:
        for together in rounds or [queue.runs]:
            queue.runs = together
            queue.work(lambda: view.refresh(live) if live else view.tell_when_one_ends(queue.tell))
            if queue.stop:
                break
    return view.observe()[0]


def not_elsewhere(runs: Sequence[Run]) -> list[Run]:
    """The runs that no process runs or has in a queue, with a line for the others.

    Raises:
        UserError: some were given to Slurm, which does not answer.
    """
    jobs = jobs_of(run.folder for run in runs)
    observed = [observe(run.folder, jobs) for run in runs]
    for run, each in zip(runs, observed, strict=True):
        if each.active:
            tell(f"{run.name}: {left_alone(each.detail)}")
    return [run for run, each in zip(runs, observed, strict=True) if not each.active]


def show(runs: Sequence[Run]) -> int:
    """Print how far all runs are, once; on a terminal again and again, until Ctrl-C."""
    console, view = Console(), View(runs)
    if not console.is_terminal:
        console.width = max(console.width, WIDE)
        console.print(state_table(runs, *view.observe()))
        return DONE
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            view.refresh(live)
            time.sleep(REFRESH / 5)
    return DONE


class View:
    """Runs as they are, looked at now and then.

    Args:
        runs: of the sweep.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self.runs = runs
        self._shown = self._asked = -ASK
        self._jobs: dict[str, Job] = {}
        self._note = ""
        observed, _ = self.observe()
        self._overall, self._done = Overall(observed), whole_runs(observed)

    def observe(self) -> tuple[list[Observed], str]:
        """What every run is doing, and what could not be found out."""
        if time.monotonic() - self._asked >= ASK:
            try:
                self._jobs, self._note = jobs_of(run.folder for run in self.runs), ""
            except UserError as error:
                self._jobs, self._note = {}, f"Slurm's queue is not known: {error}"
            self._asked = time.monotonic()
        return [observe(run.folder, self._jobs) for run in self.runs], self._note

    def refresh(self, live: Live) -> None:
        """Show them, if the table on the terminal is old."""
        if time.monotonic() - self._shown >= REFRESH:
            observed, note = self.observe()
            table = state_table(self.runs, observed, note, live.console.height - 1)
            live.update(Group(table, self._overall.bar(observed)), refresh=True)
            self._shown = time.monotonic()

    def tell_when_one_ends(self, say: Callable[[str], None]) -> None:
        """Say how far all are, if it is long ago and another one has ended since."""
        if time.monotonic() - self._shown < ASK:
            return
        observed, _ = self.observe()
        self._shown = time.monotonic()
        done = whole_runs(observed)
        if done > self._done:
            self._done = done
            say(self._overall.line(observed))


def tell(line: str) -> None:
    """Print a line for people: what programs read goes to the other stream."""
    print(line, file=sys.stderr, flush=True)
