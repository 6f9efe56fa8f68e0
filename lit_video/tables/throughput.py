"""Measured throughput of a table's rows: ``throughput.json`` beside their runs. Imports no torch."""

import json
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.files import read_text

FILE = "throughput.json"
PAPERS = "throughput"  # key of a row's paper numbers: clips per second on the paper's machine


def read_throughput(folder: Path) -> dict[str, Any] | None:
    """What ``benchmark table`` kept in the folder of a table and scale; ``None`` where it was not run.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / FILE
    try:
        measured: dict[str, Any] = json.loads(read_text(path))
        rates = [float(row[key]) for row in measured["rows"].values() for key in ("clips_per_second", "low", "high")]
        if not rates or not all(0 < rate < float("inf") for rate in rates):
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError(f"{path}: damaged; delete it and measure again: python -m lit_video benchmark table") from None
    return measured
