"""Print, write and draw timelines: windows, and the segments that they merge into."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.table import Table
from rich.text import Text

from lit_video.inference.projection import COLOURS
from lit_video.inference.timeline import Timeline
from lit_video.utils.figures import plt, short
from lit_video.utils.files import write_table
from lit_video.utils.text import clock, print_whole

OTHERS = "#bbbbbb"


def print_segments(timelines: Sequence[Timeline]) -> None:
    """A table of the segments of all videos."""
    table = Table()
    for name in ("video", "class"):
        table.add_column(name, overflow="fold")
    for name in ("from", "to", "mean %"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in timelines:
        segments = line.segments()
        for i, one in enumerate(segments):
            figures = [clock(one.start, 1), clock(one.end, 1), f"{100 * one.probability:.1f}"]
            cells = [str(line.path) if i == 0 else "", one.name, *figures]
            table.add_row(*map(Text, cells), end_section=i == len(segments) - 1)  # names are no markup
    print_whole(table)


def write_timelines(path: Path, timelines: Sequence[Timeline]) -> list[Path]:
    """Write a ``.csv`` of windows, and one of segments beside it; gives the files.

    Times are seconds from the video's first frame.

    Raises:
        OSError: a file cannot be written.
    """
    segments = path.with_name(f"{path.stem}_segments.csv")
    write_table(path, _window_rows(timelines))
    write_table(segments, _segment_rows(timelines))
    return [path, segments]


def _window_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "task", "rank", "name", "probability", "broken"
    for line in timelines:
        for window in line.windows:
            for task, ranked in window.ranked.items():
                for rank, one in enumerate(ranked, 1):
                    times = f"{window.start:.3f}", f"{window.end:.3f}"
                    yield line.path, *times, task, rank, one.name, f"{one.probability:.6f}", ""
        if line.broken:
            yield line.path, "", "", "", "", "", "", line.broken


def _segment_rows(timelines: Sequence[Timeline]) -> Iterator[Sequence[object]]:
    yield "path", "start", "end", "name", "probability", "windows"
    for line in timelines:
        for one in line.segments():
            yield line.path, f"{one.start:.3f}", f"{one.end:.3f}", one.name, f"{one.probability:.6f}", one.windows


def timeline_figure(line: Timeline) -> Figure:
    """Draw a timeline that has windows; classes that are the best for the longest have colours, the others are grey."""
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(10, 4), sharex=True, layout="constrained", height_ratios=[6, 1]
    )
    seconds: Counter[str] = Counter()
    for one in line.segments():
        seconds[one.name] += one.end - one.start  # type: ignore[assignment]  # typeshed counts whole things
    longest = {name for name, _ in seconds.most_common(len(COLOURS))}
    named = [name for name in seconds if name in longest]  # in the order in which they appear
    colour = dict(zip(named, COLOURS, strict=False))
    times = [window.middle for window in line.windows]
    for name in named:
        shares = [_percent(line, i, name) for i in range(len(times))]
        upper.plot(times, shares, color=colour[name], marker=".")
    for one in line.segments():
        lower.axvspan(one.start, one.end, color=colour.get(one.name, OTHERS), linewidth=0)
    upper.set(ylim=(-2, 102), ylabel="probability (%)")
    upper.grid(alpha=0.3)
    lower.set(xlim=(0, line.seconds), yticks=[], xlabel="seconds in the video", ylabel="best")
    handles = [Patch(color=colour[name], label=short(name)) for name in named]
    if len(seconds) > len(named):
        handles.append(Patch(color=OTHERS, label=f"{len(seconds) - len(named)} other classes"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=9, frameon=False)
    window = line.windows[0].end - line.windows[0].start
    figure.suptitle(f"{line.path.name}: windows of {window:.3g} s, drawn at their middles", fontsize=10)
    return figure


def _percent(line: Timeline, window: int, name: str) -> float:
    """Percentage of a class in a window; not a number where the window does not name it."""
    ranked = list(line.windows[window].ranked.values())[-1]
    return next((100 * one.probability for one in ranked if one.name == name), nan)
