"""Draw the learning curves of the report page, which show numbers under the mouse, as Vega-Lite.

Colours are CSS variables of the page, so that one chart suits light, dark and paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from lit_video.utils.colours import SERIES

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

    Clicks in the legend choose series, a double click all. ``names`` are those of all series, in the order of their
    colours; the description is for screen readers.
    """
    chosen = alt.selection_point(name="chosen", fields=["row"], bind="legend")
    charts = [_panel(panel, names, f"panel{i}", chosen) for i, panel in enumerate(panels)]
    charts[0] = charts[0].add_params(chosen)
    figure = alt.concat(*charts, columns=2, description=description)
    figure.datasets = {  # at the end, because Altair copies them at every step
        f"panel{i}": [
            {"row": name, "seed": seed, "x": x, "y": y}
            for name, line in panel.lines.items()
            for seed, points in [*enumerate(line.thin), (None, line.points)]
            for x, y in points
        ]
        for i, panel in enumerate(panels)
    }
    return figure


def _panel(panel: Panel, names: Sequence[str], table: str, chosen: alt.Parameter) -> alt.LayerChart:
    """A panel of a table by name, whose rows have the number of a seed on thin lines; the legend fills the width."""
    from matplotlib.ticker import MaxNLocator  # takes half a second

    places = [x for line in panel.lines.values() for x, _ in line.points]
    low, high = min(places, default=1), max(places, default=1)
    # listed, because Vega's tickMinStep lets halves through where there are few epochs
    ticks = MaxNLocator(TICKS, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1).tick_values(low, high)
    axis = dict(values=[int(tick) for tick in ticks if low <= tick <= high], format="d")
    x = alt.X("x:Q", title=panel.x, scale=dict(zero=False, nice=False, padding=8), axis=axis)
    y = alt.Y("y:Q", title=panel.y, scale=dict(zero=False, padding=8))
    columns = alt.ExprRef(f"max(1, floor(containerSize()[0] / {7 * max(map(len, names)) + 40})) || 1")
    limit = alt.ExprRef("min(420, (containerSize()[0] || 480) - 60)")  # a file has no container
    colour = alt.Color("row:N", scale=dict(domain=[*names]), legend=dict(columns=columns, labelLimit=limit))
    opacity = alt.when(chosen).then(alt.value(1)).otherwise(alt.value(FADED))
    base = alt.Chart(alt.NamedData(table)).encode(x=x, y=y, color=colour, opacity=opacity)
    seeds, mean = base.transform_filter("isValid(datum.seed)"), base.transform_filter("!isValid(datum.seed)")
    tips = [alt.Tooltip("row:N"), alt.Tooltip("x:Q", title=panel.x), alt.Tooltip("y:Q", title=panel.y, format=".4~g")]
    shape = alt.Shape("row:N", scale=dict(domain=[*names]))
    layers = [mean.mark_line(strokeWidth=2), mean.mark_point(filled=True, size=45).encode(shape=shape, tooltip=tips)]
    if any(line.thin for line in panel.lines.values()):
        layers.insert(0, seeds.mark_line(strokeWidth=1, strokeOpacity=0.45).encode(detail="seed:N"))
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT)
