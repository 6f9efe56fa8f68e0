"""Tables, files and figures of timelines: windows, and the segments that they merge into."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lit_video.inference.projection import COLOURS
from lit_video.inference.ranking import rank_rows
from lit_video.inference.timeline import Timeline
from lit_video.utils.figures import plt, short
from lit_video.utils.files import write_table
from lit_video.utils.text import clock, text_table

OTHERS = "#bbbbbb"


def table_of(timelines: Sequence[Timeline]) -> str:
    """A table of the segments of all videos."""
    body = [
        ["" if i else str(line.path), one.name, clock(one.start, 1), clock(one.end, 1), f"{100 * one.probability:.1f}"]
        for line in timelines
        for i, one in enumerate(line.segments())
    ]
    return text_table("", ["video", "class", "from", "to", "mean %"], body)


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
            part = line.path, f"{window.start:.3f}", f"{window.end:.3f}"
            yield from ((*part, *row, "") for row in rank_rows(window.ranked))
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
