"""A timeline drawn: probabilities of its classes over time, and below them the class that is the most probable."""

from collections import Counter
from math import nan

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator

from lit_video.inference.projection_picture import COLOURS
from lit_video.inference.timeline import Timeline
from lit_video.utils.clock import clock
from lit_video.utils.figures import plt, short

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
    """Of a class in a window; not a number where it is none of those that were named."""
    ranked = list(line.windows[window].ranked.values())[-1]
    return next((100 * one.probability for one in ranked if one.name == name), nan)


def _time_axis(axis: Axes, seconds: float) -> None:
    """From the video's start to its end, in steps of a clock."""
    step = next((step for step in STEPS if seconds / step <= TICKS), seconds)
    axis.set_xlim(0, seconds)
    axis.xaxis.set_major_locator(MultipleLocator(step))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, place: clock(x, 0 if step >= 1 else 1)))
