"""Put the contents of every section into the page's templates."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lit_video.reports.charts import CONFIG
from lit_video.reports.html import views
from lit_video.reports.html.collect import Section
from lit_video.tables.rendering import main_table
from lit_video.utils.colours import DARK, LIGHT


@dataclass(frozen=True)
class Cell:
    """Text of a cell, its sort key (``None``: last), and a CSS class."""

    text: str
    value: float | None
    kind: str


def render_page(sections: Sequence[Section], command: str) -> str:
    """The whole page as HTML.

    Args:
        sections: at least one.
        command: command that makes the page, shown on it.
    """
    environment = Environment(
        loader=PackageLoader("lit_video.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = [result for section in sections for row in section.read.results.values() for result in row]
    source = files("lit_video.reports.html") / "templates"
    return environment.get_template("page.html").render(
        style=Markup((source / "style.css").read_text(encoding="utf-8")),
        light=LIGHT,
        dark=DARK,
        chart_config=CONFIG,
        vega=vega(),
        script=Markup((source / "script.js").read_text(encoding="utf-8")),
        made=datetime.now().astimezone(),
        command=command,
        commits=sorted({str(result["commit"]) for result in results}),
        devices=sorted({str(result.get("device", "not recorded")) for result in results}),
        runs=len(results),
        rows=sum(len(section.labels) - len(views.folds(section)) for section in sections),
        contents=[_content(section) for section in sections],
        by_cost=views.by_cost(sections),
        by_speed=views.by_speed(sections),
        papers=any(row.paper for each in sections for row in (*each.table.rows, *each.table.reported)),
    )


@cache
def vega() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script that defines ``vegaEmbed`` only."""
    import vl_convert

    return Markup("(() => {{{}}})();").format(Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")))


def _content(section: Section) -> dict[str, Any]:
    """Variables of a section's template."""
    table, pairs = section.table, views.pairs(section)
    header, body = cells(section.data)
    return {
        "anchor": re.sub(r"[^A-Za-z0-9_-]+", "-", f"{table.name}-{table.scale}"),
        "section": section,
        "table": table,
        "accuracy": views.accuracy(section),
        "header": header,
        "body": body,
        "agreement": section.data["agreement"],
        "pairs": pairs,
        "single": any(len(results) == 1 for results in section.read.results.values()),
        "groups": views.groups(section),
        "curves": views.learning_curves(section),
        "confusions": views.confusions(section),
        "calibrations": views.calibrations(section),
        "classes": views.classes(section),
        "without": _without(section),
        "benchmark": f"python -m lit_video benchmark table --config {table.path}",
    }


def cells(data: dict[str, Any]) -> tuple[list[str], list[list[Cell]]]:
    """Header and body of the table as ``table`` prints it; cells are sorted by the number that they begin with."""
    _, header, body = main_table(data)
    return header, [[_cell(text, name) for text, name in zip(line, header, strict=True)] for line in body]


def _cell(text: str, header: str) -> Cell:
    number = re.match(r"[+-]?\d[\d.]*(e[+-]\d+)?", text)
    kind = "paper" if header.endswith(" paper") else "ours" if header.endswith(" ours") else ""
    return Cell(text, float(number[0]) if number else None, "missing" if kind == "ours" and not number else kind)


def _without(section: Section) -> dict[str, list[str]]:
    """Labels of rows that lack a file in some run, by what it holds."""
    results, folds = section.read.results, views.folds(section)
    kept = {"predictions": section.read.predictions, "curves": section.curves}
    without = {
        what: [
            label
            for row, label in section.labels.items()
            if row not in folds and len(of_rows.get(row, ())) < len(results[row])
        ]
        for what, of_rows in kept.items()
    }
    return {what: ["all rows"] if len(rows) == len(section.labels) else rows for what, rows in without.items() if rows}
