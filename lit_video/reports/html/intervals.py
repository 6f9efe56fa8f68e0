"""Paired differences as dots with intervals: one small drawing per line of a table, all on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from lit_video.reports.html.svg import Scale, around, drawing, element, number, text
from lit_video.tables.statistics import Interval

WIDTH, HEIGHT = 240, 22


def interval_scale(intervals: Sequence[Interval]) -> Scale:
    """A scale that holds all intervals and zero."""
    return around([0.0, *(end for each in intervals for end in (each.low, each.high))], 8.0, WIDTH - 8.0)


def interval_drawing(interval: Interval, scale: Scale, paper: float | None = None) -> Markup:
    """A dot with its interval, beside zero; the paper's difference, where it lies on the scale, as a cross."""
    middle = HEIGHT / 2
    sign = {1: "above", 0: "open", -1: "below"}[interval.sign]
    low, high, dot = scale(interval.low), scale(interval.high), scale(interval.value)
    parts = [
        element("line", class_="zero", x1=scale(0), x2=scale(0), y1=0, y2=HEIGHT),
        element("path", class_=f"interval {sign}", d=f"M{low:.1f} 6v10M{low:.1f} {middle}H{high:.1f}M{high:.1f} 6v10"),
        element("circle", class_=f"dot {sign}", cx=dot, cy=middle, r=4.5),
    ]
    if paper is not None and scale.low <= paper <= scale.high:
        at = scale(paper)
        parts.append(element("path", class_="cross", d=f"M{at - 4:.1f} 7l8 8m0 -8l-8 8"))
    what = f"{interval.value:+.1f}, 95 % interval {interval.low:+.1f} to {interval.high:+.1f}"
    return drawing(WIDTH, HEIGHT, what, element("title", what), *parts, class_="chart inline")


def interval_axis(scale: Scale) -> Markup:
    """Ticks of the scale, for the table's header."""
    ticks = [text(scale(tick), 11.0, number(tick), anchor="middle") for tick in scale.ticks()]
    marks = [element("line", class_="axis", x1=scale(t), x2=scale(t), y1=14, y2=18) for t in scale.ticks()]
    return drawing(WIDTH, 18, "percentage points", *ticks, *marks, class_="chart inline")
