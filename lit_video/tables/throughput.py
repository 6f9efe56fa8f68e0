"""Measured throughput of a table's rows: ``throughput.json`` beside their runs."""

import json
from pathlib import Path
from typing import Any

from lit_video.utils.files import read_whole

FILE = "throughput.json"
PAPERS = "throughput"  # key of a row's paper numbers: clips per second on the paper's machine


def read_throughput(folder: Path) -> dict[str, Any] | None:
    """What ``benchmark table`` kept in the folder of a table and scale; ``None`` where it was not run.

    Raises:
        UserError: the file is damaged.
    """
    path, again = folder / FILE, "delete it and measure again: python -m lit_video benchmark table"
    return read_whole(path, lambda: _checked(json.loads(path.read_text(encoding="utf-8"))), again)


def _checked(measured: dict[str, Any]) -> dict[str, Any]:
    rates = [float(row[key]) for row in measured["rows"].values() for key in ("clips_per_second", "low", "high")]
    if not rates or not all(0 < rate < float("inf") for rate in rates):
        raise ValueError("a rate is none")
    return measured
