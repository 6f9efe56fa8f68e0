"""What W&B gets of a test: the figures and the accuracy per class from the run's folder."""

import csv
from pathlib import Path
from typing import Any

FIGURES = ("confusion", "calibration", "attention")  # files NAME.png, or NAME_TASK.png of several tasks


def wandb_media(run_dir: Path) -> dict[str, Any]:
    """Media of the files that exist, by W&B's key.

    Returns:
        ``figures/NAME`` the pictures as they are; ``test/classes`` the table ``classes.csv``.
    """
    import wandb  # here, as runs without a logger need no W&B

    pictures = sorted(path for name in FIGURES for path in run_dir.glob(f"{name}*.png"))
    media: dict[str, Any] = {f"figures/{path.stem}": wandb.Image(str(path)) for path in pictures}
    if (run_dir / "classes.csv").exists():
        columns, data = _table(run_dir / "classes.csv")
        media["test/classes"] = wandb.Table(columns=[*columns], data=data)
    return media


def _table(path: Path) -> tuple[list[str], list[list[Any]]]:
    """Columns and data of a csv: text in ``task`` and ``class``, numbers elsewhere."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    text = {"task", "class"}
    data: list[list[Any]] = [
        [cell if name in text else _number(cell) for name, cell in zip(head, row, strict=True)] for row in rows
    ]
    return head, data


def _number(cell: str) -> float | None:
    return float(cell) if cell else None
