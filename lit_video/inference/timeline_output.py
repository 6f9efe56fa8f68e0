"""Print, write and draw timelines: windows, and the segments that they merge into."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator
from rich.table import Table
from rich.text import Text

from lit_video.inference.projection import COLOURS
from lit_video.inference.timeline import Timeline
from lit_video.utils.figures import plt, short
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text import clock, print_whole


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


def segments_file(path: Path) -> Path:
    """Where the segments are written beside the windows of a ``.csv``."""
    return path.with_name(f"{path.stem}_segments.csv")


def write_timelines(path: Path, timelines: Sequence[Timeline]) -> list[Path]:
    """Write windows and segments: both into a ``.json``; a ``.csv`` of windows, and one of segments beside it.

    Times are seconds from the video's first frame. Gives the files.

    Raises:
        OSError: a file cannot be written.
    """
    if path.suffix.lower() == ".csv":
        write_table(path, _window_rows(timelines))
        write_table(segments_file(path), _segment_rows(timelines))
        return [path, segments_file(path)]
    videos = [
        asdict(line) | {"path": str(line.path), "segments": [asdict(one) for one in line.segments()]}
        for line in timelines
    ]
    write_atomically(path, json.dumps({"videos": videos}, indent=2, ensure_ascii=False) + "\n")
    return [path]


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


OTHERS = "#bbbbbb"
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
TICKS = 12  # of the time axis at most
MARKED = 60  # windows of which each has a mark


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
        upper.plot(times, shares, color=colour[name], marker="o" if len(times) <= MARKED else "", markersize=3)
    for one in line.segments():
        lower.axvspan(one.start, one.end, color=colour.get(one.name, OTHERS), linewidth=0)
    upper.set(ylim=(-2, 102), ylabel="probability (%)")
    upper.grid(alpha=0.3)
    lower.set(yticks=[], xlabel="time in the video", ylabel="best")
    _time_axis(lower, line.seconds)
    handles = [Patch(color=colour[name], label=short(name)) for name in named]
    if len(seconds) > len(named):
        handles.append(Patch(color=OTHERS, label=f"{len(seconds) - len(named)} other classes"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=9, frameon=False)
    window = line.windows[0]
    figure.suptitle(
        f"{line.path.name}: windows of {window.end - window.start:.3g} s, drawn at their middles", fontsize=10
    )
    return figure


def _percent(line: Timeline, window: int, name: str) -> float:
    """Percentage of a class in a window; not a number where the window does not name it."""
    ranked = list(line.windows[window].ranked.values())[-1]
    return next((100 * one.probability for one in ranked if one.name == name), nan)


def _time_axis(axis: Axes, seconds: float) -> None:
    """From the video's start to its end, in steps of a clock."""
    step = next((step for step in STEPS if seconds / step <= TICKS), seconds)
    axis.set_xlim(0, seconds)
    axis.xaxis.set_major_locator(MultipleLocator(step))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, place: clock(x, 0 if step >= 1 else 1)))
