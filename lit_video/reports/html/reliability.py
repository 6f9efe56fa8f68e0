"""Reliability of each row: accuracy against confidence, of the seeds together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from lit_video.reports.html.collect import Section
from lit_video.reports.html.line_plot import Line, line_plot
from lit_video.tables.statistics import calibration


@dataclass(frozen=True)
class Reliability:
    """A task's drawing, and each row's expected calibration error in percent."""

    task: str
    drawing: Markup
    errors: list[tuple[str, float]]


def reliability(section: Section) -> list[Reliability]:
    """A drawing per task; none where no run kept its predictions."""
    lines: dict[str, list[Line]] = {}
    errors: dict[str, list[tuple[str, float]]] = {}
    for i, row in enumerate(section.table.rows):
        kept = [run.predictions for run in section.of(row) if run.predictions]
        for task in kept[0].tasks if kept else ():
            each = [predictions.tasks[task] for predictions in kept]
            shares, hits = (np.concatenate([x.probabilities for x in each]), np.concatenate([x.hits() for x in each]))
            bins = calibration(shares, hits)
            full = bins.count > 0
            points = [
                (100 * float(c), 100 * float(a))
                for c, a in zip(bins.confidence[full], bins.accuracy[full], strict=True)
            ]
            lines.setdefault(task, []).append(Line(row.label, i, points))
            errors.setdefault(task, []).append((row.label, bins.error))
    what = f"accuracy against confidence, {section.table.title}"
    axes = "mean probability of the likeliest class (%)", "accuracy (%)"
    return [
        Reliability(task, line_plot(each, *axes, what, whole=(0, 100)), errors[task]) for task, each in lines.items()
    ]
