"""What runs measured, by table, row and seed: ``result.json``."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.tables.damage import Damage
from lit_video.tables.run_files import RESULT, run_file, run_folders
from lit_video.tables.table import Row, Table
from lit_video.utils.files import read_whole

FILE = RESULT
NUMBERS = ("params", "gmacs", "views", "seconds", "test_videos")
AGAIN = "delete it, the run measures again"
# what results must have in common, and what it means where they do not
OF_TABLE = {
    "data_digest": "measured on other videos or labels",
    "pictures": "measured on other pictures",
}
OF_ROW = {
    "params": "of another model",
    "views": "tested on more or fewer views",
    "test_videos": "tested on more or fewer videos",
    "global_batch": "trained with another batch",
    "steps": "trained for more or fewer steps",
}


def read_result(run_dir: Path) -> dict[str, Any] | None:
    """The ``result.json`` of a finished run; ``None`` for a run that is not finished.

    Args:
        run_dir: the run's folder, with the names of table, scale, row and seed in its path.

    Raises:
        UserError: the file is damaged, or of another run.
    """
    path = run_dir / RESULT
    return read_whole(path, lambda: _checked(path, json.loads(run_file(run_dir, RESULT))), AGAIN)


def _checked(path: Path, result: dict[str, Any]) -> dict[str, Any]:
    """The result; an error if a number in it is none, or if it is another run's, whose numbers would count twice."""
    table, scale, row, seed = ("", "", "", *path.absolute().parts)[-5:-1]
    for key, value in (("table", table), ("scale", scale), ("row", row), ("seed", seed)):
        said = f"seed{result[key]}" if key == "seed" else result[key]
        if said != value:
            raise ValueError(f"of {key} {said!r}, in the folder of {value!r}")
    for name, value in ({key: result[key] for key in NUMBERS} | result["metrics"]).items():
        if not math.isfinite(value) or (name.endswith(("_top1", "_top5")) and not 0 <= value <= 100):
            raise ValueError(f"{name} is {value}")
    return result


def measured_rows(
    table: Table, runs: Path, seeds: Sequence[int] | None = None, damage: Damage | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Results of every row, by seed, all measured on the same videos and labels, as far as they say.

    Those of other data than the table's first, and seeds that were trained otherwise than the first of their row, are
    left out and put in ``damage``, as damaged ones are.
    """
    damage = damage or Damage()
    folders = run_folders(runs / table.name / table.scale)
    chosen = [folder for row in table.rows for folder in _of_row(folders, row, seeds)]
    read = [(folder, damage.read(read_result, folder)) for folder in chosen]
    kept = alike([(folder, result) for folder, result in read if result], damage)
    return {row.name: [one for _, one in kept if one["row"] == row.name] for row in table.rows}


Measured = list[tuple[Path, dict[str, Any]]]  # folders of runs, and their results


def alike(measured: Measured, damage: Damage, of_table: Mapping[str, str] = OF_TABLE) -> Measured:
    """Those that agree with the first result of the table, and of their row, that says a value; none must say it."""
    for key, differs in {**of_table, **OF_ROW}.items():
        firsts: dict[str, tuple[Path, Any]] = {}
        kept = []
        for folder, one in measured:
            group = "" if key in of_table else one["row"]
            first, expected = firsts.setdefault(group, (folder, one[key])) if key in one else (folder, None)
            if one.get(key) == expected:
                kept.append((folder, one))
            else:
                why = f"{differs} ({key} {one[key]}) than {first} ({expected}): they do not belong together"
                damage.add(folder, f"{folder / RESULT}: {why}; run one of them again")
        measured = kept
    return measured


def _of_row(folders: Iterable[Path], row: Row, seeds: Sequence[int] | None) -> list[Path]:
    """Folders of a row, by seed: of all seeds, or of the given ones."""
    of_row = [(folder.name.removeprefix("seed"), folder) for folder in folders if folder.parent.name == row.name]
    by_seed = {int(seed): folder for seed, folder in of_row if seed.isdecimal()}
    return [by_seed[seed] for seed in sorted(by_seed) if seeds is None or seed in seeds]
