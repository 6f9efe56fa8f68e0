"""The learning curve of a run: ``curves.csv`` in its folder, a row per epoch."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from lit_video.tables.run_files import run_file
from lit_video.utils.files import read_whole, write_table

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
    then = "delete it, the run's results are in other files"
    return read_whole(run_dir / FILE, lambda: _points(run_file(run_dir, FILE).decode()), then) or []


def _points(text: str) -> list[Point]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    points: list[Point] = [{key: float(value) for key, value in row.items() if value} for row in rows]
    if not all(math.isfinite(value) for point in points for value in point.values()):
        raise ValueError("not all numbers are finite")
    return points
