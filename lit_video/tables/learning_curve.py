"""The learning curve of a run: ``curves.csv`` in its folder, a row per epoch. Imports no torch."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.files import read_text, write_table

FILE = "curves.csv"
COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5", "train/clip_top1")

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
        rows = csv.DictReader(io.StringIO(read_text(path), newline=""))
        points: list[Point] = [{key: float(value) for key, value in row.items() if value} for row in rows]
        if not all(math.isfinite(value) for point in points for value in point.values()):
            raise ValueError
        return points
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, csv.Error):
        raise UserError(f"{path}: damaged; delete it, the run's results are in other files") from None
