"""Learning curve of a run: ``curves.csv``."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from lit_video.runs.folder import run_file
from lit_video.utils.files import read_whole, write_table

CURVES = "curves.csv"
CURVE_COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5", "train/clip_top1")
Point = Mapping[str, float]


def write_curves(run_dir: Path, points: Sequence[Point]) -> None:
    """Write the curve; a value that was not measured at a point stays empty.

    Columns beyond the usual ones, such as directions by skill, follow in the order of their first point.
    """
    columns = list(dict.fromkeys([*CURVE_COLUMNS, *(key for point in points for key in point)]))
    rows: list[Sequence[str]] = [columns]
    for point in points:
        texts = {key: f"{value:z.6g}" for key, value in point.items()}
        rows.append([texts.get(key, "") for key in columns])
    write_table(run_dir / CURVES, rows)


def read_curves(run_dir: Path) -> list[Point]:
    """Read the curve's points; empty if the run kept none."""
    return curves_and_file(run_dir)[0]


def curves_and_file(run_dir: Path) -> tuple[list[Point], bytes]:
    """Read the curve's points, and return them with the content of their file; both are empty if the run kept none."""

    def read() -> tuple[list[Point], bytes]:
        content = run_file(run_dir, CURVES)
        points: list[Point] = []
        for row in csv.DictReader(io.StringIO(content.decode(), newline="")):
            points.append({key: float(value) for key, value in row.items() if value})
        return points, content

    return read_whole(run_dir / CURVES, read, "delete it; the run's results are in other files") or ([], b"")
