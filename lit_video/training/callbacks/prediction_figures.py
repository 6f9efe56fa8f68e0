"""Figures of a test in a run's folder: confusion matrix, calibration."""

from pathlib import Path

import numpy as np

from lit_video.reports.charts.calibration import calibration_chart
from lit_video.reports.charts.confusion import confusion_chart
from lit_video.reports.charts.style import save
from lit_video.tables.predictions import TaskPredictions
from lit_video.tables.statistics import calibration


def draw_confusion(task: TaskPredictions, title: str, path: Path) -> None:
    """Write the confusion matrix as shares of each class's videos; classes without a video stay blank."""
    side = float(np.clip(30 * len(task.classes), 300, 900))
    save(confusion_chart(task.confusion, task.classes, title, side), title, path)


def draw_calibration(task: TaskPredictions, title: str, path: Path) -> None:
    """Write accuracy against confidence, and how many videos each bin holds."""
    bins = calibration(task.confidence, task.hits())
    save(calibration_chart({f"error {bins.error:.1f} %": bins}, title), title, path)
