"""Accuracy against what it costs: a point per row, a series per table and scale."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import altair as alt

from lit_video.reports.charts.series import chosen, colour, opacity, shape
from lit_video.reports.charts.style import FONT, INK, table

HEIGHT = 420  # pixels


@dataclass(frozen=True)
class Dot:
    """A row: its label, what it costs, its accuracy in percent, and ends of the cost's interval where measured."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def scatter_chart(dots: Mapping[str, Sequence[Dot]], x_title: str, description: str) -> alt.LayerChart:
    """Draw the dots of each series on a logarithmic axis of cost; ``description`` is for screen readers."""
    values = [{"row": name, **asdict(dot)} for name, each in dots.items() for dot in each]
    x = alt.X("x:Q", title=x_title, scale=dict(type="log", nice=False, padding=30), axis=dict(format="~g"))
    y = alt.Y("y:Q", title="accuracy (%)", scale=dict(zero=False, nice=False, padding=12))
    base = table("dots").encode(x=x, y=y, color=colour([*dots]), opacity=opacity())
    tips = [
        alt.Tooltip("row:N", title="table"),
        alt.Tooltip("label:N", title="row"),
        alt.Tooltip("x:Q", title=x_title, format=".4~g"),
        alt.Tooltip("y:Q", title="accuracy (%)", format=".1f"),
    ]
    spans = any(value["low"] is not None for value in values)
    if spans:
        tips += [alt.Tooltip(f"{key}:Q", title=f"middle half, {key}", format=".4~g") for key in ("low", "high")]
    layers = [base.mark_point(filled=True, size=80).encode(shape=shape([*dots]), tooltip=tips).properties(name="dots")]
    if spans:
        ends = {"x": alt.X("low:Q", title=x_title), "x2": "high:Q"}
        layers.insert(0, base.mark_rule().encode(**ends).properties(name="spans"))
    patch = {"op": "add", "path": "/marks/-", "value": _labels(["spans_marks"] if spans else [])}
    figure = alt.LayerChart(layer=layers, width="container", height=HEIGHT, description=description)
    figure = figure.add_params(chosen())
    figure.usermeta = {"embedOptions": {"patch": [patch]}}
    figure.datasets = {"dots": values}
    return figure


def _labels(avoided: list[str]) -> dict[str, Any]:
    """Vega's own labels, which Vega-Lite lacks: beside their points where they cover nothing, else left out."""
    style: dict[str, Any] = {"text": {"field": "datum.label"}, "fillOpacity": {"field": "opacity"}}
    style |= {key: {"value": value} for key, value in (("fill", INK), ("font", FONT), ("fontSize", 12))}
    beside = ["right", "left", "top", "bottom", "top-right", "bottom-right", "top-left", "bottom-left"]
    place = {"type": "label", "size": {"signal": "[max(1, width), max(1, height)]"}, "anchor": beside, "offset": [6]}
    return {
        "type": "text",
        "interactive": False,
        "from": {"data": "dots_marks"},
        "encode": {"update": style},
        "transform": [place | {"avoidMarks": avoided}],
    }
