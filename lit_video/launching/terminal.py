"""A sweep as people see it: a live table on a terminal, lines elsewhere."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress

from rich.console import Console, Group
from rich.live import Live

from lit_video.errors import UserError
from lit_video.launching.devices import Place
from lit_video.launching.local import Queue, left_alone
from lit_video.launching.overall import Overall, whole_runs
from lit_video.launching.squeue import Job
from lit_video.launching.state_table import counts, state_table
from lit_video.launching.states import Observed, jobs_of, observe
from lit_video.launching.work import Run
from lit_video.utils.exit_status import DONE, FAILED, PREEMPTED
from lit_video.utils.slurm import requeue
from lit_video.utils.stop_signals import AGAIN, STATUS

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
