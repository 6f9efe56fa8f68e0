"""The page: every section's content, put into the templates. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lit_video.reports.html.classes import ClassView, class_views
from lit_video.reports.html.collect import Section
from lit_video.reports.html.compare import Comparison, averages, compare
from lit_video.reports.html.confusion_plot import Confusion, confusions
from lit_video.reports.html.cost_curves import cost_curves
from lit_video.reports.html.intervals import interval_axis, interval_drawing, interval_scale
from lit_video.reports.html.learning import learning_curves
from lit_video.reports.html.reliability import Reliability, reliability
from lit_video.reports.html.scatter import Dot, scatter
from lit_video.reports.html.svg import legend
from lit_video.reports.html.table_view import View, view


@dataclass(frozen=True)
class Content:
    """What the template of a section shows."""

    anchor: str
    section: Section
    view: View
    comparison: Comparison
    intervals: list[Markup]
    axis: Markup | None
    labels: Mapping[str, str]
    legend: Markup
    curves: list[Markup]
    confusions: list[Confusion]
    reliability: list[Reliability]
    classes: list[ClassView]
    without: dict[str, list[str]]
    benchmark: str


def render_page(sections: Sequence[Section], command: str) -> str:
    """The whole page as HTML.

    Args:
        sections: at least one.
        command: that makes the page, as it is told on it.
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
        script=Markup((source / "script.js").read_text(encoding="utf-8")),
        made=datetime.now().astimezone(),
        command=command,
        commits=sorted({str(result["commit"]) for result in results}),
        devices=sorted({str(result.get("device", "not recorded")) for result in results}),
        runs=len(results),
        contents=[_content(section) for section in sections],
        by_cost=_by_cost(sections),
        by_speed=_by_speed(sections),
        cost_curves=cost_curves(),
    )


def _content(section: Section) -> Content:
    comparison = compare(section)
    intervals = [pair.difference for pair in comparison.pairs]
    scale = interval_scale(intervals) if intervals else None
    drawn = [interval_drawing(pair.difference, scale, pair.paper) for pair in comparison.pairs] if scale else []
    table = section.table
    return Content(
        anchor=re.sub(r"[^A-Za-z0-9_-]+", "-", f"{table.name}-{table.scale}"),
        section=section,
        view=view(section),
        comparison=comparison,
        intervals=drawn,
        axis=interval_axis(scale) if scale else None,
        labels={row.name: row.label for row in table.rows},
        legend=legend({i: row.label for i, row in enumerate(table.rows) if section.of(row)}),
        curves=learning_curves(section),
        confusions=confusions(section),
        reliability=reliability(section),
        classes=class_views(section),
        without=_without(section),
        benchmark=f"python -m lit_video benchmark table --config {table.path}",
    )


def _without(section: Section) -> dict[str, list[str]]:
    """Rows that lack a file in some run, by file."""
    found: dict[str, list[str]] = {"predictions.npz": [], "curves.csv": []}
    for row in section.table.rows:
        runs = section.of(row)
        if any(run.predictions is None for run in runs):
            found["predictions.npz"].append(row.label)
        if any(not run.curve for run in runs):
            found["curves.csv"].append(row.label)
    return {file: ["all rows"] if len(rows) == len(section.runs) else rows for file, rows in found.items() if rows}


def _by_cost(sections: Sequence[Section]) -> Markup:
    series = []
    for section in sections:
        ours, dots = averages(section), []
        for row in section.table.rows:
            if row.name in ours:
                result = section.of(row)[0].result
                dots.append(Dot(row.label, result["gmacs"] * result["views"], ours[row.name]))
        series.append((_name(section), dots))
    return _scatter(series, "GMACs of all views of a video")


def _by_speed(sections: Sequence[Section]) -> Markup:
    """Empty where nothing was measured."""
    series = []
    for section in sections:
        ours, rows = averages(section), _speeds(section)
        dots = [
            Dot(row.label, speed["clips_per_second"], ours[row.name], speed["low"], speed["high"])
            for row in section.table.rows
            if row.name in ours and (speed := rows.get(row.name))
        ]
        device = (section.throughput or {}).get("device", "unknown device")
        series.append((f"{_name(section)}, on {device}", dots))
    return _scatter(series, "clips per second")


def _speeds(section: Section) -> dict[str, Any]:
    return dict(section.throughput["rows"]) if section.throughput else {}


def _scatter(series: Sequence[tuple[str, Sequence[Dot]]], x_label: str) -> Markup:
    drawn = [(name, dots) for name, dots in series if dots]
    what = f"accuracy against {x_label}: {', '.join(name for name, _ in drawn)}"
    return scatter(drawn, x_label, "accuracy (%)", what) if drawn else Markup("")


def _name(section: Section) -> str:
    return f"{section.table.name} / {section.table.scale}"
