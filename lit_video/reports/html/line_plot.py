"""Lines over epochs, frames or confidence: a thick one per series, thin ones for what it is the mean of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from lit_video.reports.html.svg import SERIES, Scale, around, axes, drawing, element, line, marker

WIDTH, HEIGHT = 470, 320
LEFT, TOP, RIGHT, BOTTOM = 64.0, 12.0, 458.0, 272.0

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A series: its name, its number (which makes its colour), its points, and thin lines beside it."""

    name: str
    series: int
    points: Points
    thin: Sequence[Points] = field(default=())


def line_plot(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    what: str,
    log: tuple[bool, bool] = (False, False),
    whole: tuple[float, float] | None = None,
) -> Markup:
    """Draw the lines.

    Args:
        lines: at least one, with at least one point.
        x_label: of the axis.
        y_label: of the axis.
        what: is drawn, for a screen reader.
        log: which axes are logarithmic.
        whole: ends of both axes, with a diagonal between them; else the axes follow the points.
    """
    each = [point for one in lines for points in (one.points, *one.thin) for point in points]
    if whole:
        x, y = Scale(*whole, LEFT, RIGHT), Scale(*whole, BOTTOM, TOP)
    else:
        x = around([point[0] for point in each], LEFT, RIGHT, log[0], 0.03)
        y = around([point[1] for point in each], BOTTOM, TOP, log[1])
    parts = [axes(x, y, x_label, y_label)]
    if whole:
        parts.append(line([(LEFT, BOTTOM), (RIGHT, TOP)], "diagonal"))
    for one in lines:
        colour = f"s{one.series % SERIES}"
        drawn = [line([(x(a), y(b)) for a, b in points], f"{colour} thin") for points in one.thin if points]
        places = [(x(a), y(b)) for a, b in one.points]
        if places:
            drawn.append(line(places, colour))
        few = len(places) <= 15
        shown = range(len(places)) if few else range(0, len(places), len(places) // 8)
        for i in shown:
            tip = f"{one.name}: {x_label} {one.points[i][0]:.4g}, {y_label} {one.points[i][1]:.4g}"
            drawn.append(marker(*places[i], one.series, tip, r=3.5))
        parts.append(element("g", *drawn))
    return drawing(WIDTH, HEIGHT, what, *parts)
