"""Calibration of each row: accuracy against confidence, of the seeds together."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from lit_video.reports.charts.calibration import calibration_chart
from lit_video.reports.html.collect import Section
from lit_video.reports.html.embedding import embedded
from lit_video.tables.statistics import Bins, calibration


@dataclass(frozen=True)
class CalibrationView:
    """A task's chart, and each row's expected calibration error in percent."""

    task: str
    chart: Markup
    errors: list[tuple[str, float]]


def calibration_views(section: Section) -> list[CalibrationView]:
    """A chart per task; none where no run kept its predictions."""
    bins: dict[str, dict[str, Bins]] = {}
    for row in section.table.rows:
        kept = section.predictions(row)
        for task in kept[0].tasks if kept else ():
            each = [predictions.tasks[task] for predictions in kept]
            confidence = np.concatenate([x.confidence for x in each])
            hits = np.concatenate([x.hits() for x in each])
            bins.setdefault(task, {})[row.label] = calibration(confidence, hits)
    description = f"accuracy against confidence, {section.table.title}"
    return [
        CalibrationView(
            task, embedded(calibration_chart(rows, description), 480), [(row, each.error) for row, each in rows.items()]
        )
        for task, rows in bins.items()
    ]
