"""Picture of what a model sees: recognised and direction by skill, with intervals and floors."""

from typing import Any

from matplotlib.figure import Figure

from lit_video.probes.measure import ProbeAccuracies
from lit_video.tables.statistics import Interval
from lit_video.utils.colours import LIGHT
from lit_video.utils.figures import short

BLIND = 50.0  # direction in percent without comparing frames
_Style = dict[str, Any]
# dots of accuracies: a direction above 50 % by a test or not, in shape too; and those that no test is about
_SEEN: _Style = {"marker": "o", "color": LIGHT["s0"], "markersize": 6}
_NOT_SHOWN: _Style = {"marker": "o", "color": LIGHT["quiet"], "markersize": 6, "markerfacecolor": "white"}
_UNTESTED: _Style = {"marker": "s", "color": LIGHT["ink"], "markersize": 5}


def figure_of(title: str, measured: ProbeAccuracies) -> Figure:
    """Draw a line for each skill, in two panels: recognised and direction."""
    skills = measured.skills
    figure = Figure(figsize=(10, 0.42 * len(skills) + 2.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    heights = [len(skills) - number for number in range(len(skills))]

    for height, skill in zip(heights, skills, strict=True):
        _draw(left, height, skill.recognised, _UNTESTED)
        _draw(right, height, skill.direction, _SEEN if skill.is_seen else _NOT_SHOWN)
        right.plot(skill.pixels.value, height, "x", color=LIGHT["s1"], markersize=6)
        right.plot(skill.two_frames, height, "d", color=LIGHT["s2"], markersize=5)
        if skill.sum_bound is not None:
            right.plot(skill.sum_bound, height, "|", color=LIGHT["s3"], markersize=11)
    _draw(left, 0, measured.recognised, _UNTESTED)
    _draw(right, 0, measured.direction, _UNTESTED)
    right.plot(measured.pixels_direction.value, 0, "x", color=LIGHT["s1"], markersize=6)
    left.plot(measured.pixels_recognised.value, 0, "x", color=LIGHT["s1"], markersize=6)

    left.axvline(100 / len(skills), color=LIGHT["rule"], zorder=0)
    right.axvline(BLIND, color=LIGHT["rule"], zorder=0)
    left.set_yticks([*heights, 0], [*(f"{skill.name} ({skill.kind})" for skill in skills), "all"])
    left.set(xlim=(-2, 102), title="recognised: which skill", xlabel="% of test videos; line: chance")
    right.set(xlim=(-2, 102), title="direction, given the skill", xlabel="% of test videos; line: chance, one frame")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)

    names: dict[str, _Style] = {
        "shown to be above 50": _SEEN,
        "not shown": _NOT_SHOWN,
        "not tested": _UNTESTED,
        "the same probe on pixels": {"marker": "x", "color": LIGHT["s1"]},
        "best of two neighbouring frames": {"marker": "d", "color": LIGHT["s2"], "markersize": 5},
        "bound of a sum over frames": {"marker": "|", "color": LIGHT["s3"], "markersize": 11},
    }
    handles = [right.plot([], [], linestyle="", label=name, **style)[0] for name, style in names.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.suptitle(short(title, 80), fontsize=12, fontweight="bold")
    return figure


def _draw(axes: Any, height: float, interval: Interval, style: _Style) -> None:
    if interval.bounded:
        axes.plot([interval.low, interval.high], [height, height], color=style["color"], linewidth=1.5)
    axes.plot(interval.value, height, **style)
