"""Measured throughput of a table's rows: ``throughput.json`` beside their runs. Imports no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lit_video.errors import UserError

FILE = "throughput.json"


def read_throughput(folder: Path) -> dict[str, Any] | None:
    """What ``benchmark table`` kept in the folder of a table and scale; ``None`` where it was not run.

    Raises:
        UserError: the file is damaged.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text())
        rates = {row: float(rate["clips_per_second"]) for row, rate in found["rows"].items()}
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, AttributeError):
        raise UserError(f"{path}: damaged; delete it, or run benchmark table again") from None
    return {**found, "rates": rates}
