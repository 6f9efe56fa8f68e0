"""The page: every section's content, put into the templates. Imports no torch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lit_video.reports.charts.intervals import STEP, Difference, intervals_chart
from lit_video.reports.charts.scatter import HEIGHT, Dot, scatter_chart
from lit_video.reports.charts.style import CONFIG, DARK, LIGHT
from lit_video.reports.html.calibration import CalibrationView, calibration_views
from lit_video.reports.html.classes import ClassView, class_views
from lit_video.reports.html.collect import Section
from lit_video.reports.html.compare import Comparison, compare
from lit_video.reports.html.confusions import Confusion, confusions
from lit_video.reports.html.cost_curves import cost_curves
from lit_video.reports.html.embedding import embedded, vega
from lit_video.reports.html.groups import GroupsView, groups_view
from lit_video.reports.html.learning import learning_curves
from lit_video.reports.html.table_view import View, view


@dataclass(frozen=True)
class Content:
    """What the template of a section shows."""

    anchor: str
    section: Section
    view: View
    comparison: Comparison
    intervals: Markup
    labels: Mapping[str, str]
    groups: GroupsView | None
    curves: Markup
    confusions: list[Confusion]
    calibrations: list[CalibrationView]
    classes: list[ClassView]
    without: dict[str, list[str]]
    benchmark: str


def render_page(sections: Sequence[Section], command: str) -> str:
    """The whole page as HTML.

    Args:
        sections: at least one.
        command: that makes the page, which shows it.
    """
    environment = Environment(
        loader=PackageLoader("lit_video.reports.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    results = [run.result for section in sections for runs in section.runs.values() for run in runs]
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
        rows=sum(bool(runs) for section in sections for runs in section.runs.values()),
        contents=[_content(section) for section in sections],
        by_cost=_by_cost(sections),
        by_speed=_by_speed(sections),
        papers=any(row.paper for each in sections for row in (*each.table.rows, *each.table.reported)),
        cost_curves=cost_curves(),
    )


def _content(section: Section) -> Content:
    comparison = compare(section)
    table = section.table
    labels = {row.name: row.label for row in table.rows}
    return Content(
        anchor=re.sub(r"[^A-Za-z0-9_-]+", "-", f"{table.name}-{table.scale}"),
        section=section,
        view=view(section),
        comparison=comparison,
        intervals=_intervals(comparison, labels),
        labels=labels,
        groups=groups_view(section),
        curves=learning_curves(section),
        confusions=confusions(section),
        calibrations=calibration_views(section),
        classes=class_views(section),
        without=_without(section),
        benchmark=f"python -m lit_video benchmark table --config {table.path}",
    )


def _intervals(comparison: Comparison, labels: Mapping[str, str]) -> Markup:
    """Empty where no two rows kept predictions."""
    pairs = [Difference(labels[p.first], labels[p.second], p.difference, p.paper) for p in comparison.pairs]
    description = "differences between rows with 95 % intervals, as in the table above"
    return embedded(intervals_chart(pairs, description), STEP * len(pairs) + 50) if pairs else Markup("")


def _without(section: Section) -> dict[str, list[str]]:
    """Rows that lack a file in some run, by file."""
    without: dict[str, list[str]] = {"predictions.npz": [], "curves.csv": []}
    for row in section.table.rows:
        runs = section.of(row)
        if any(run.predictions is None for run in runs):
            without["predictions.npz"].append(row.label)
        if any(not run.curve for run in runs):
            without["curves.csv"].append(row.label)
    return {file: ["all rows"] if len(rows) == len(section.runs) else rows for file, rows in without.items() if rows}


def _by_cost(sections: Sequence[Section]) -> Markup:
    dots = {}
    for section in sections:
        ours = section.averages
        dots[_name(section)] = [
            Dot(row.label, result["gmacs"] * result["views"], ours[row.name])
            for row in section.table.rows
            if row.name in ours and (result := section.of(row)[0].result)
        ]
    return _scatter(dots, "GMACs of all views of a video")


def _by_speed(sections: Sequence[Section]) -> Markup:
    """Empty where nothing was measured."""
    dots = {}
    for section in sections:
        ours, measured = section.averages, section.throughput or {}
        rows = measured.get("rows", {})
        dots[f"{_name(section)}, on {measured.get('device', 'unknown device')}"] = [
            Dot(row.label, speed["clips_per_second"], ours[row.name], speed["low"], speed["high"])
            for row in section.table.rows
            if row.name in ours and (speed := rows.get(row.name))
        ]
    return _scatter(dots, "clips per second")


def _scatter(dots: Mapping[str, Sequence[Dot]], x_title: str) -> Markup:
    series = {name: each for name, each in dots.items() if each}
    description = f"accuracy against {x_title}: {', '.join(series)}"
    return embedded(scatter_chart(series, x_title, description), HEIGHT + 100) if series else Markup("")


def _name(section: Section) -> str:
    return f"{section.table.name} / {section.table.scale}"
