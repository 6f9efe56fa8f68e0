"""Figures of a test: confusion matrix, reliability."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lit_video.tables.predictions import TaskPredictions
from lit_video.tables.statistics import calibration
from lit_video.utils.figures import plt, save

# more classes than this have no room for names and numbers
NAMED, NUMBERED = 60, 20


def draw_confusion(task: TaskPredictions, title: str, path: Path) -> None:
    """Write the confusion matrix as shares of each class's videos; classes without a video stay blank."""
    counts = task.confusion
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(1, keepdims=True)
    side = float(np.clip(0.45 * len(task.classes), 5, 14))
    figure, axis = plt.subplots(figsize=(side + 1.5, side), layout="constrained")
    image = axis.imshow(100 * shares, cmap="Blues", vmin=0, vmax=100)
    figure.colorbar(image, label="% of the class's videos", shrink=0.8)
    axis.set(title=title, xlabel="taken for", ylabel="class")
    if len(task.classes) <= NAMED:
        axis.set_xticks(range(len(task.classes)), task.classes, rotation=90)
        axis.set_yticks(range(len(task.classes)), task.classes)
    if len(task.classes) <= NUMBERED:
        for (row, column), count in np.ndenumerate(counts):
            if count:
                colour = "white" if shares[row, column] > 0.5 else "black"
                axis.text(column, row, str(count), ha="center", va="center", color=colour, fontsize=8)
    save(figure, path, quietly=True)


def draw_calibration(task: TaskPredictions, title: str, path: Path) -> None:
    """Write accuracy against confidence, and how many videos each bin holds."""
    bins = calibration(task.probabilities, task.hits())
    edges = np.linspace(0, 100, len(bins.count) + 1)
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(5, 6), height_ratios=(3, 1), sharex=True, layout="constrained")
    upper.plot([0, 100], [0, 100], color="grey", linestyle="--", label="calibrated")
    upper.plot(100 * bins.confidence, 100 * bins.accuracy, marker="o", label=f"error {bins.error:.1f} %")
    upper.set(title=title, ylabel="accuracy (%)", ylim=(0, 102))
    upper.legend(frameon=False)
    lower.bar(edges[:-1], bins.count, width=np.diff(edges), align="edge", edgecolor="white")
    lower.set(xlabel="probability of the likeliest class (%)", ylabel="videos", xlim=(0, 100))
    for axis in (upper, lower):
        axis.grid(alpha=0.3)
    save(figure, path, quietly=True)
