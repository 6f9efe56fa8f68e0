"""Accuracy of every class and row: differences between two rows that the reader chooses, at first best and worst."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lit_video.reports.html.collect import Section
from lit_video.tables.predictions import TaskPredictions

LARGEST = 12  # classes shown with gains, and with losses


@dataclass(frozen=True)
class ClassLine:
    """A class, the accuracy of both rows in percent, and how many test videos it has."""

    name: str
    first: float
    second: float
    videos: int

    @property
    def difference(self) -> float:
        """In percentage points."""
        return self.first - self.second


@dataclass(frozen=True)
class ClassView:
    """A task's classes: all numbers for the page's script, and the two rows that it shows at first."""

    task: str
    data: dict[str, Any]
    first: int
    second: int
    lines: list[ClassLine]


def class_views(section: Section) -> list[ClassView]:
    """A view per task, of the rows that kept predictions; none where fewer than two did."""
    kept = [(row, predictions) for row in section.table.rows if (predictions := section.predictions(row))]
    if len(kept) < 2:
        return []
    means = [section.averages.get(row.name, 0.0) for row, _ in kept]
    best, worst = int(np.argmax(means)), int(np.argmin(means))
    if best == worst:
        best, worst = 0, 1
    views = []
    for task in kept[0][1][0].tasks:
        rows = [[one.tasks[task] for one in predictions] for _, predictions in kept]
        one = rows[0][0]
        videos = np.bincount(one.target, minlength=len(one.classes))
        accuracies = [class_accuracy(each) for each in rows]
        data = {
            "classes": one.classes,
            "videos": videos.tolist(),
            "most": LARGEST,
            "rows": [{"label": row.label, "top1": top1} for (row, _), top1 in zip(kept, accuracies, strict=True)],
        }
        views.append(ClassView(task, data, best, worst, largest(data, best, worst)))
    return views


def class_accuracy(seeds: list[TaskPredictions]) -> list[float | None]:
    """Accuracy of each class in percent, the mean over seeds; ``None`` of classes without a test video."""
    right = np.mean([np.bincount(one.target[one.hits()], minlength=len(one.classes)) for one in seeds], axis=0)
    videos = np.bincount(seeds[0].target, minlength=len(seeds[0].classes))
    return [round(100 * float(r / n), 2) if n else None for r, n in zip(right, videos, strict=True)]


def largest(data: dict[str, Any], first: int, second: int) -> list[ClassLine]:
    """Classes by difference, largest first: the largest gains and the largest losses where there are many."""
    one, other = data["rows"][first]["top1"], data["rows"][second]["top1"]
    lines = [
        ClassLine(name, a, b, n)
        for name, a, b, n in zip(data["classes"], one, other, data["videos"], strict=True)
        if a is not None and b is not None
    ]
    lines.sort(key=lambda line: -line.difference)
    return lines if len(lines) <= 2 * LARGEST + 2 else lines[:LARGEST] + lines[-LARGEST:]
