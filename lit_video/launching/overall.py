"""How far many runs are together, and how long they still take. Imports no torch."""

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from rich.progress_bar import ProgressBar
from rich.table import Table

from lit_video.launching.states import Observed

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
