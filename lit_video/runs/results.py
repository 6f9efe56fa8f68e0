"""Result and learning curve of a run."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.runs.files import AGAIN, RUN, run_file
from lit_video.utils.files import read_whole, write_table

CURVES = "curves.csv"
COLUMNS = ("epoch", "step", "train/loss", "val/loss", "val/clip_top1", "val/clip_top5", "train/clip_top1")
NUMBERS = ("params", "gmacs", "views", "seconds", "test_videos")

Point = Mapping[str, float]


def read_result(run_dir: Path, anywhere: bool = False) -> dict[str, Any] | None:
    """Read the result of a finished run, with its identity and changes; ``None`` for a run that is not finished.

    With ``anywhere`` its path may have other names than those of table, scale, row and seed, as a copy has.
    """
    path = run_dir / RUN
    return read_whole(path, lambda: _checked(path, json.loads(run_file(run_dir, RUN)), anywhere), AGAIN)


def _checked(path: Path, run: dict[str, Any], anywhere: bool) -> dict[str, Any] | None:
    """Return the result; refuse one that holds no numbers, or another run's, which would count twice."""
    if run.get("result") is None:
        return None
    identity, result = run["identity"], run["result"]
    table, scale, row, seed = ("", "", "", *path.absolute().parts)[-5:-1]
    for key, value in (("table", table), ("scale", scale), ("row", row), ("seed", seed)):
        said = f"seed{result[key]}" if key == "seed" else result[key]
        if said != value and not anywhere:
            raise ValueError(f"of {key} {said!r}, in the folder of {value!r}")
    for name, value in ({key: result[key] for key in NUMBERS} | result["metrics"]).items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}")
    return result | {"commit": identity["commit"], "identity": identity, "changes": run["changes"]}


def write_curves(run_dir: Path, points: Sequence[Point]) -> None:
    """Write the curve; what an epoch did not measure stays empty."""
    rows = [[f"{point[key]:.6g}" if key in point else "" for key in COLUMNS] for point in points]
    write_table(run_dir / CURVES, [COLUMNS, *rows])


def read_curves(run_dir: Path) -> list[Point]:
    """Read the curve's points; none if the run kept none."""
    then = "delete it, the run's results are in other files"
    return read_whole(run_dir / CURVES, lambda: _parse_curves(run_file(run_dir, CURVES).decode()), then) or []


def _parse_curves(text: str) -> list[Point]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return [{key: float(value) for key, value in row.items() if value} for row in rows]
