"""Confusion matrices of a section's rows, and what each confuses most."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from lit_video.reports.charts.confusion import confusion_chart
from lit_video.reports.html.collect import Section
from lit_video.reports.html.embedding import embedded
from lit_video.tables.predictions import most_confused

MOST = 3  # mistakes that are named


@dataclass(frozen=True)
class Confusion:
    """A row's matrix of one task, of its seeds together, and what it confuses most: (class, taken for, videos)."""

    label: str
    task: str
    chart: Markup
    worst: list[tuple[str, str, int]]


def confusions(section: Section) -> list[Confusion]:
    """A matrix per row and task, of the runs that kept their predictions."""
    matrices = []
    for row in section.table.rows:
        kept = section.predictions(row)
        for task in kept[0].tasks if kept else ():
            each = [predictions.tasks[task] for predictions in kept]
            counts = np.sum([one.confusion for one in each], axis=0)
            description = f"confusion matrix of {row.label}, {task or section.table.title}"
            chart = embedded(confusion_chart(counts, each[0].classes, description), 360)
            matrices.append(Confusion(row.label, task, chart, most_confused(counts, each[0].classes, MOST)))
    return matrices
