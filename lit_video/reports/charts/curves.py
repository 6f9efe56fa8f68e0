"""Lines over epochs, frames or pixels, side by side: a thick one per series, thin ones where it is a mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil, floor

import altair as alt

from lit_video.reports.charts.series import chosen, colour, opacity, shape
from lit_video.reports.charts.style import Values, table

WIDTH, HEIGHT = 430, 260  # pixels of a panel
TICKS = 12  # of the x axis
MARKED = 15  # points of a line up to which each has a mark; of more, only some

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A series' points, and those of thin lines beside it."""

    points: Points
    thin: Sequence[Points] = field(default=())


@dataclass(frozen=True)
class Panel:
    """Titles of both axes, lines by their series' name, and whether the y axis is logarithmic."""

    x: str
    y: str
    lines: Mapping[str, Line]
    log: bool = False


def curves_chart(panels: Sequence[Panel], names: Sequence[str], description: str) -> alt.ConcatChart:
    """Draw the panels under one legend.

    Args:
        panels: at least one, with at least one line.
        names: of all series, in the order of their colours.
        description: for screen readers.
    """
    charts, tables = [], dict[str, Values]()
    for i, panel in enumerate(panels):
        tables[f"mean{i}"], tables[f"thin{i}"] = _mean(panel), _thin(panel)
        charts.append(_panel(panel, names, f"mean{i}", f"thin{i}" if tables[f"thin{i}"] else ""))
    charts[0] = charts[0].add_params(chosen())
    figure = alt.concat(*charts, columns=2, description=description)
    figure.datasets = tables
    return figure


def _panel(panel: Panel, names: Sequence[str], means: str, thin: str) -> alt.LayerChart:
    """A panel of two tables by name; ``thin`` is empty where there are no thin lines."""
    y_scale = dict(type="log") if panel.log else dict(zero=False, padding=8)
    # listed, because Vega's tickMinStep lets halves through where there are few epochs
    ticks = dict(values=whole_ticks([x for line in panel.lines.values() for x, _ in line.points]), format="d")
    x = alt.X("x:Q", title=panel.x, scale=dict(zero=False, nice=False, padding=8), axis=ticks)
    y = alt.Y("y:Q", title=panel.y, scale=y_scale)
    seeds, mean = (table(name).encode(x=x, y=y, color=colour(names), opacity=opacity()) for name in (thin, means))
    tips = [alt.Tooltip("row:N"), alt.Tooltip("x:Q", title=panel.x), alt.Tooltip("y:Q", title=panel.y, format=".4~g")]
    layers = [
        mean.mark_line(strokeWidth=2),
        mean.transform_filter("datum.marked").mark_point(filled=True, size=45).encode(shape=shape(names)),
        # points without a mark have a tooltip too
        mean.mark_point(filled=True, size=90, fillOpacity=0).encode(tooltip=tips),
    ]
    if thin:
        layers.insert(0, seeds.mark_line(strokeWidth=1, strokeOpacity=0.45).encode(detail="seed:N"))
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)


def whole_ticks(places: Sequence[float]) -> list[int]:
    """Whole numbers from the least place to the greatest, at most ``TICKS``, in steps of 1, 2, 5, 10, 20, ..."""
    low, high = ceil(min(places, default=1)), floor(max(places, default=1))
    step = next(s for k in count() for s in (10**k, 2 * 10**k, 5 * 10**k) if (high - low) / s < TICKS)
    first = low if step == 1 else -(-low // step) * step
    return [*range(first, high + 1, step)]


def _mean(panel: Panel) -> Values:
    points = []
    for name, line in panel.lines.items():
        every = 1 if len(line.points) <= MARKED else len(line.points) // 8
        points += [{"row": name, "x": x, "y": y, "marked": i % every == 0} for i, (x, y) in enumerate(line.points)]
    return points


def _thin(panel: Panel) -> Values:
    return [
        {"row": name, "seed": i, "x": x, "y": y}
        for name, line in panel.lines.items()
        for i, points in enumerate(line.thin)
        for x, y in points
    ]
