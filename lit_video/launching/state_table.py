"""Runs of a sweep as a table: states, progress, counts."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from rich.console import Group
from rich.table import Table
from rich.text import Text

from lit_video.launching.states import Observed, State
from lit_video.launching.work import Run

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
