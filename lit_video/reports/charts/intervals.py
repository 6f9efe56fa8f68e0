"""Differences of pairs as dots with their intervals, all on one scale: one line per pair."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from lit_video.reports.charts.style import FIRST, GROUND, INK, QUIET, SECOND, table
from lit_video.tables.statistics import Interval

STEP = 22  # height of a line in pixels
CROSS = "M-.7 -.7L.7 .7M.7 -.7L-.7 .7"  # SVG path


@dataclass(frozen=True)
class Difference:
    """Labels of two rows, ours first - second with its interval, and the paper's where it has one."""

    first: str
    second: str
    ours: Interval
    paper: float | None = None


def intervals_chart(differences: Sequence[Difference], description: str) -> alt.LayerChart:
    """Draw the differences: hollow where the interval holds zero; the paper's as a cross where it lies on the scale.

    Args:
        differences: at least one, in percentage points.
        description: for screen readers.
    """
    low = min(0.0, *(each.ours.low for each in differences))
    high = max(0.0, *(each.ours.high for each in differences))
    margin = 0.06 * (high - low) or 1.0
    scale = dict(domain=[low - margin, high + margin], nice=False)
    x = alt.X("low:Q", scale=scale, title="percentage points", axis=dict(orient="top", tickCount=9))
    # names take at most two fifths of a narrow screen
    limit = alt.ExprRef("min(420, 0.4 * containerSize()[0])")
    names = dict(title=None, grid=False, ticks=False, domain=False, labelLimit=limit)
    tips = [alt.Tooltip(f"{key}:Q", format="+.1f") for key in ("ours", "low", "high", "paper")]
    base = table("pairs").encode(y=alt.Y("pair:N", sort=None, axis=names), tooltip=[alt.Tooltip("pair:N"), *tips])
    base = base.encode(stroke=alt.Stroke("colour:N", scale=None), fill=alt.Fill("inside:N", scale=None))
    ours = base.mark_point(size=70, opacity=1, strokeWidth=2).encode(x=alt.X("ours:Q", scale=scale))
    cross = base.mark_point(size=90, shape=CROSS, opacity=1, strokeWidth=2, clip=True)
    figure = alt.LayerChart(
        layer=[
            table("zero").mark_rule(color=QUIET, strokeDash=[2, 2]).encode(x=x),
            base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q"),
            ours,
            cross.encode(x=alt.X("paper:Q", scale=scale), stroke=alt.value(INK)),
        ],
        width="container",
        height=STEP * len(differences),
        description=description,
    )
    figure.datasets = {"pairs": [_values(each) for each in differences], "zero": [{"low": 0}]}
    return figure


def _values(each: Difference) -> dict[str, Any]:
    colour = SECOND if each.ours.sign < 0 else FIRST
    return {
        "pair": f"{each.first} − {each.second}",
        "ours": each.ours.value,
        "low": each.ours.low,
        "high": each.ours.high,
        "paper": each.paper,
        "colour": colour,
        "inside": colour if each.ours.sign else GROUND,
    }
