"""Reliability of each row: accuracy against confidence, of the seeds together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from lit_video.reports.html.collect import Section
from lit_video.reports.html.embedding import embedded
from lit_video.tables.charts.calibration import calibration_chart
from lit_video.tables.statistics import Bins, calibration


@dataclass(frozen=True)
class Reliability:
    """A task's drawing, and each row's expected calibration error in percent."""

    task: str
    drawing: Markup
    errors: list[tuple[str, float]]


def reliability(section: Section) -> list[Reliability]:
    """A drawing per task; none where no run kept its predictions."""
    bins: dict[str, dict[str, Bins]] = {}
    for row in section.table.rows:
        kept = [run.predictions for run in section.of(row) if run.predictions]
        for task in kept[0].tasks if kept else ():
            each = [predictions.tasks[task] for predictions in kept]
            shares, hits = (np.concatenate([x.probabilities for x in each]), np.concatenate([x.hits() for x in each]))
            bins.setdefault(task, {})[row.label] = calibration(shares, hits)
    what = f"accuracy against confidence, {section.table.title}"
    return [
        Reliability(
            task, embedded(calibration_chart(rows, what), 480), [(row, each.error) for row, each in rows.items()]
        )
        for task, rows in bins.items()
    ]
