"""What W&B is told of a test: the figures, the classes and the predictions that the run's folder holds."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import wandb

from lit_video.tables.predictions import read_predictions

FIGURES = ("confusion", "calibration", "attention")  # files NAME.png, or NAME_TASK.png of several tasks
CHARTED_CLASSES = 100  # a chart's table has a line per pair of classes, and W&B shows ten thousand lines


def wandb_media(run_dir: Path) -> dict[str, Any]:
    """What there is to log, by W&B's key; of files that are not there, nothing.

    Returns:
        ``figures/NAME`` the pictures as they are; ``test/classes`` the table ``classes.csv``;
        ``test/confusion_matrix`` (``test/confusion_matrix_TASK`` of several tasks) W&B's own chart, of at most
        ``CHARTED_CLASSES`` classes, which says which pairs are confused when pointed at.
    """
    pictures = sorted(path for name in FIGURES for path in run_dir.glob(f"{name}*.png"))
    found: dict[str, Any] = {f"figures/{path.stem}": wandb.Image(str(path)) for path in pictures}
    if (run_dir / "classes.csv").exists():
        found["test/classes"] = _table(run_dir / "classes.csv")
    return found | _charts(run_dir)


def _table(path: Path) -> wandb.Table:
    """A csv as a table: text in ``task`` and ``class``, numbers elsewhere."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    text = {"task", "class"}
    return wandb.Table(
        columns=[*head],
        data=[[cell if name in text else _number(cell) for name, cell in zip(head, row, strict=True)] for row in rows],
    )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _charts(run_dir: Path) -> dict[str, Any]:
    predictions = read_predictions(run_dir)
    charts = {}
    for task, found in predictions.tasks.items() if predictions else ():
        if len(found.classes) <= CHARTED_CLASSES:
            charts[f"test/confusion_matrix_{task}" if task else "test/confusion_matrix"] = wandb.plot.confusion_matrix(
                y_true=found.target.tolist(),
                preds=found.logits.argmax(1).tolist(),
                class_names=[str(name) for name in found.classes],
                title=" ".join(["Confusion", task]).strip(),
            )
    return charts
