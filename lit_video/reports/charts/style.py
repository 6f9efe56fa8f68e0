"""How every chart looks, and its two ways out: JSON for a page, a picture for a file.

Colours are CSS variables of the page, so that one chart suits light, dark and paper; a PNG gets the light ones.
"""

import json
import re
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt

from lit_video.utils.files import write_bytes

Chart: TypeAlias = alt.LayerChart | alt.ConcatChart | alt.VConcatChart
Values: TypeAlias = list[dict[str, Any]]

SERIES = tuple(f"s{i}" for i in range(8))
LIGHT = {"ground": "#fff", "ink": "#1b1f24", "quiet": "#59626d", "rule": "#d5dae0"} | dict(
    zip(
        SERIES,
        ("#1d5fc4", "#c2410c", "#13795b", "#8b3fc7", "#946200", "#be185d", "#0e7490", "#525b66"),
        strict=True,
    )
)
DARK = {"ground": "#14181d", "ink": "#e7eaee", "quiet": "#a5afba", "rule": "#39424c"} | dict(
    zip(
        SERIES,
        ("#7fb2ff", "#ff9b6a", "#5fd0a5", "#c79bff", "#e0b94f", "#ff8ab8", "#56c9de", "#b5bec9"),
        strict=True,
    )
)
GROUND, INK, QUIET, RULE, FIRST, SECOND = (f"var(--{name})" for name in ("ground", "ink", "quiet", "rule", "s0", "s1"))
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "axis": {
        "labelColor": INK,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": RULE,
        "domainColor": QUIET,
        "tickColor": QUIET,
    },
    "legend": {
        "orient": "top",
        "title": None,
        "labelColor": INK,
        "titleColor": QUIET,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "symbolSize": 80,
        "symbolStrokeWidth": 0,
        "rowPadding": 5,
    },
    "title": {"color": INK, "fontSize": 13, "anchor": "start"},
    "view": {"stroke": None},
    "range": {"category": [f"var(--{name})" for name in SERIES], "symbol": SHAPES},
}


def table(name: str) -> alt.Chart:
    """A chart of a table by name; the figure gets its rows at the end, because Altair copies it at every step."""
    return alt.Chart(alt.NamedData(name))


def spec(chart: Chart) -> dict[str, Any]:
    """The chart for a page that has :data:`CONFIG` and Vega-Lite of its own; names no URL."""
    content = chart.to_dict(validate=False)
    return {key: value for key, value in content.items() if key not in ("$schema", "config")}


def save(chart: Chart, title: str, path: Path) -> None:
    """Write a PNG, or SVG by the file's name, on white, under a title."""
    import vl_convert

    text = json.dumps(spec(chart) | {"title": title, "config": CONFIG | {"background": "white"}})
    plain = re.sub(r"var\(--(\w+)\)", lambda match: LIGHT[match[1]], text)
    if path.suffix == ".svg":
        write_bytes(path, vl_convert.vegalite_to_svg(plain).encode())
    else:
        write_bytes(path, vl_convert.vegalite_to_png(plain, scale=2))
