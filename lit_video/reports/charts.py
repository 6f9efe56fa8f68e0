"""Draw the charts of the report page that show numbers under the mouse, as Vega-Lite.

Colours are CSS variables of the page, so that one chart suits light, dark and paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import ceil, floor
from typing import Any, TypeAlias

import altair as alt

from lit_video.utils.colours import SERIES

Values: TypeAlias = list[dict[str, Any]]

INK, QUIET, RULE = (f"var(--{name})" for name in ("ink", "quiet", "rule"))
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
TEXT = {"labelColor": INK, "titleColor": QUIET, "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12}
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "axis": {**TEXT, "gridColor": RULE, "domainColor": QUIET, "tickColor": QUIET},
    "legend": {**TEXT, "orient": "top", "title": None, "symbolSize": 80, "symbolStrokeWidth": 0, "rowPadding": 5},
    "view": {"stroke": None},
    "range": {"category": [f"var(--{name})" for name in SERIES], "symbol": SHAPES},
}
FADED = 0.08  # opacity of a series that is not chosen
WIDTH, HEIGHT = 430, 260  # pixels of a panel of curves
TICKS = 12  # of their x axis

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """A series' points, and those of thin lines beside it."""

    points: Points
    thin: Sequence[Points] = field(default=())


@dataclass(frozen=True)
class Panel:
    """Titles of both axes, and lines by their series' name."""

    x: str
    y: str
    lines: Mapping[str, Line]


def spec(chart: alt.ConcatChart) -> dict[str, Any]:
    """The chart for a page that has :data:`CONFIG` and Vega-Lite of its own; names no URL."""
    content = chart.to_dict(validate=False)
    return {key: value for key, value in content.items() if key not in ("$schema", "config")}


def curves_chart(panels: Sequence[Panel], names: Sequence[str], description: str) -> alt.ConcatChart:
    """Draw lines over epochs, side by side under one legend: a thick one per series, thin ones where it is a mean.

    Args:
        panels: at least one, with at least one line.
        names: names of all series, in the order of their colours.
        description: for screen readers.
    """
    charts, tables = [], dict[str, Values]()
    for i, panel in enumerate(panels):
        tables[f"mean{i}"], tables[f"thin{i}"] = _mean(panel), _thin(panel)
        charts.append(_panel(panel, names, f"mean{i}", f"thin{i}" if tables[f"thin{i}"] else ""))
    charts[0] = charts[0].add_params(_chosen())
    figure = alt.concat(*charts, columns=2, description=description)
    figure.datasets = tables
    return figure


def _panel(panel: Panel, names: Sequence[str], means: str, thin: str) -> alt.LayerChart:
    """A panel of two tables by name; ``thin`` is empty where there are no thin lines."""
    # listed, because Vega's tickMinStep lets halves through where there are few epochs
    ticks = dict(values=whole_ticks([x for line in panel.lines.values() for x, _ in line.points]), format="d")
    x = alt.X("x:Q", title=panel.x, scale=dict(zero=False, nice=False, padding=8), axis=ticks)
    y = alt.Y("y:Q", title=panel.y, scale=dict(zero=False, padding=8))
    seeds, mean = (_table(name).encode(x=x, y=y, color=_colour(names), opacity=_opacity()) for name in (thin, means))
    tips = [alt.Tooltip("row:N"), alt.Tooltip("x:Q", title=panel.x), alt.Tooltip("y:Q", title=panel.y, format=".4~g")]
    layers = [
        mean.mark_line(strokeWidth=2),
        mean.mark_point(filled=True, size=45).encode(shape=_shape(names), tooltip=tips),
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
    return [{"row": name, "x": x, "y": y} for name, line in panel.lines.items() for x, y in line.points]


def _thin(panel: Panel) -> Values:
    return [
        {"row": name, "seed": i, "x": x, "y": y}
        for name, line in panel.lines.items()
        for i, points in enumerate(line.thin)
        for x, y in points
    ]


def _table(name: str) -> alt.Chart:
    """A chart of a table by name; the figure gets its rows at the end, because Altair copies it at every step."""
    return alt.Chart(alt.NamedData(name))


def _chosen() -> alt.Parameter:
    """Selection of series by clicks in the legend; a double click selects all. The first of several charts has it."""
    return alt.selection_point(name="chosen", fields=["row"], bind="legend")


def _colour(names: Sequence[str]) -> alt.Color:
    """Colour by the field ``row``, in the order of the names; the legend has as many columns as fit at first."""
    widest = 7 * max(map(len, names)) + 40
    columns = alt.ExprRef(f"max(1, floor(containerSize()[0] / {widest})) || 1")  # a file has no container
    limit = alt.ExprRef("min(420, (containerSize()[0] || 480) - 60)")
    return alt.Color("row:N", scale=dict(domain=[*names]), legend=dict(columns=columns, labelLimit=limit))


def _shape(names: Sequence[str]) -> alt.Shape:
    """Mark by the field ``row``; its legend is that of the colours."""
    return alt.Shape("row:N", scale=dict(domain=[*names]))


def _opacity() -> Any:
    """Full for the series that are chosen."""
    return alt.when(_chosen()).then(alt.value(1)).otherwise(alt.value(FADED))
