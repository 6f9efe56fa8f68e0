"""Accuracy against what it costs: a point per row, a series per table and scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lit_video.reports.html.labels import place
from lit_video.reports.html.svg import around, axes, drawing, element, legend, line, marker, text

WIDTH, HEIGHT = 900, 460
LEFT, TOP, RIGHT, BOTTOM = 64.0, 12.0, 885.0, 412.0


@dataclass(frozen=True)
class Dot:
    """A row: its label, what it costs, its accuracy in percent, and ends of the cost's interval where measured."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def scatter(series: Sequence[tuple[str, Sequence[Dot]]], x_label: str, y_label: str, what: str) -> Markup:
    """Draw the series; ``what`` says to a screen reader what is drawn."""
    dots = [dot for _, each in series for dot in each]
    reach = [value for dot in dots for value in (dot.x, dot.low, dot.high) if value is not None]
    x = around(reach, LEFT, RIGHT, log=True)
    y = around([dot.y for dot in dots], BOTTOM, TOP)
    places = [(x(dot.x), y(dot.y)) for dot in dots]
    spans = [(x(d.low), y(d.y) - 2, x(d.high), y(d.y) + 2) for d in dots if d.low is not None and d.high is not None]
    labels = place(places, [dot.label for dot in dots], (LEFT + 4, TOP, RIGHT, BOTTOM - 2), spans)
    parts = [axes(x, y, x_label, y_label)]
    written = [text(one.x, one.y, one.words, anchor=one.anchor, class_="label") for one in labels]
    for i, (name, each) in enumerate(series):
        group = []
        for dot in each:
            tip = f"{name}: {dot.label}\n{x_label} {dot.x:.4g}, {dot.y:.1f} %"
            if dot.low is not None and dot.high is not None:
                tip += f" (middle half of the measurements: {dot.low:.4g} to {dot.high:.4g})"
                group.append(line([(x(dot.low), y(dot.y)), (x(dot.high), y(dot.y))], f"s{i % 8} thin"))
            group.append(marker(x(dot.x), y(dot.y), i, tip))
        parts.append(element("g", *group))
    svg = drawing(WIDTH, HEIGHT, what, *parts, *written, class_="chart wide")
    return legend({i: name for i, (name, _) in enumerate(series)}) + element(
        "div", svg, class_="scroll", tabindex="0", role="region", aria_label=what
    )
