"""The learning curve of a run: ``curves.csv`` in its folder, a row per epoch. Imports no torch."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.files import write_table

FILE = "curves.csv"
COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5")

Point = Mapping[str, float]


def write_curves(run_dir: Path, points: Sequence[Point]) -> None:
    """Write the curve; what an epoch did not measure stays empty."""
    rows = [[f"{point[key]:.6g}" if key in point else "" for key in COLUMNS] for point in points]
    write_table(run_dir / FILE, [COLUMNS, *rows])


def read_curves(run_dir: Path) -> list[Point]:
    """The curve's points; none where the run kept none.

    Raises:
        UserError: the file is damaged.
    """
    path = run_dir / FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [{key: float(value) for key, value in row.items() if value} for row in csv.DictReader(file)]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, UnicodeDecodeError, csv.Error):
        raise UserError(f"{path}: damaged; delete it, the run's results are in other files") from None
