"""Picture of what a model sees: recognised and direction by skill, with intervals and floors."""

from textwrap import fill
from typing import Any

from matplotlib.figure import Figure

from lit_video.probes.measure import ProbeAccuracies
from lit_video.tables.statistics import Interval
from lit_video.utils.colours import LIGHT
from lit_video.utils.figures import short

BLIND = 50.0  # direction in percent without comparing frames
_Style = dict[str, Any]
# dots of accuracies: a direction that a test shows to be above 50 %, one that it does not, and what no test is about;
# their forms differ too, for readers who tell no colours apart
_SEEN: _Style = {"marker": "o", "color": LIGHT["s0"], "markersize": 6}
_NOT_SHOWN: _Style = {"marker": "o", "color": LIGHT["quiet"], "markersize": 6, "markerfacecolor": "white"}
_UNTESTED: _Style = {"marker": "s", "color": LIGHT["ink"], "markersize": 5}


def figure_of(title: str, measured: ProbeAccuracies) -> Figure:
    """Draw a line for each skill, in two panels, one above the other: recognised and direction."""
    skills = measured.skills
    # the figure is as narrow as a phone, so that words of ten points can be read there
    figure = Figure(figsize=(5, 2 * (0.25 * len(skills) + 1.1) + 1.8), layout="constrained")
    above, below = figure.subplots(2, 1)
    heights = [len(skills) - number for number in range(len(skills))]

    for height, skill in zip(heights, skills, strict=True):
        _draw(above, height, skill.recognised, _UNTESTED)
        _draw(below, height, skill.direction, _SEEN if skill.is_seen else _NOT_SHOWN)
        below.plot(skill.pixels.value, height, "x", color=LIGHT["s1"], markersize=6)
        below.plot(skill.two_frames, height, "d", color=LIGHT["s2"], markersize=5)
        if skill.sum_bound is not None:
            below.plot(skill.sum_bound, height, "|", color=LIGHT["s3"], markersize=11)
    _draw(above, 0, measured.recognised, _UNTESTED)
    _draw(below, 0, measured.direction, _UNTESTED)
    below.plot(measured.pixels_direction.value, 0, "x", color=LIGHT["s1"], markersize=6)
    above.plot(measured.pixels_recognised.value, 0, "x", color=LIGHT["s1"], markersize=6)

    above.axvline(100 / len(skills), color=LIGHT["rule"], zorder=0)
    below.axvline(BLIND, color=LIGHT["rule"], zorder=0)
    lines = [*(f"{skill.name} ({skill.kind})" for skill in skills), "all"]
    above.set(xlim=(-2, 102), title="recognised: which skill", xlabel="% of test videos; line: chance")
    below.set(xlim=(-2, 102), title="direction, given the skill", xlabel="% of test videos; line: chance, one frame")
    for axes in (above, below):
        axes.set_yticks([*heights, 0], lines)
        axes.spines[["top", "right"]].set_visible(False)

    names: dict[str, _Style] = {
        "shown to be above 50": _SEEN,
        "not shown": _NOT_SHOWN,
        "not tested": _UNTESTED,
        "the same probe on pixels": {"marker": "x", "color": LIGHT["s1"]},
        "best of two neighbouring frames": {"marker": "d", "color": LIGHT["s2"], "markersize": 5},
        "bound of a sum over frames": {"marker": "|", "color": LIGHT["s3"], "markersize": 11},
    }
    handles = [below.plot([], [], linestyle="", label=name, **style)[0] for name, style in names.items()]
    figure.legend(handles=handles, loc="outside lower center", fontsize=10, frameon=False)
    figure.suptitle(fill(short(title, 80), 40), fontsize=11, fontweight="bold")
    return figure


def _draw(axes: Any, height: float, interval: Interval, style: _Style) -> None:
    if interval.bounded:
        axes.plot([interval.low, interval.high], [height, height], color=style["color"], linewidth=1.5)
    axes.plot(interval.value, height, **style)
