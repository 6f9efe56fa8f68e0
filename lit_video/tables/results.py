"""What runs measured, by table, row and seed: ``result.json``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.tables.table import Row, Table

# what a reader of results relies on
KEYS = {"table", "row", "scale", "seed", "commit", "params", "gmacs", "views", "seconds", "metrics", "test_videos"}


def read_result(run_dir: Path) -> dict[str, Any] | None:
    """The ``result.json`` of a finished run; ``None`` for a run that is not finished.

    Raises:
        UserError: the file is damaged, or another version's.
    """
    path = run_dir / "result.json"
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise UserError(f"{path}: damaged; delete it and run the row again") from None
    missing = sorted(KEYS - result.keys()) if isinstance(result, dict) else sorted(KEYS)
    if missing:
        raise UserError(f"{path}: of another version of lit_video (it has no {missing[0]}); run the row again")
    return dict(result)


def results(table: Table, runs: Path, row: Row, seeds: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Results of a row, by seed: of all seeds, or of the given ones."""
    folders = (runs / table.name / table.scale / row.name).glob("seed*")
    by_seed = {int(folder.name[4:]): read_result(folder) for folder in folders if folder.name[4:].isdigit()}
    return [result for seed, result in sorted(by_seed.items()) if result and (seeds is None or seed in seeds)]
