"""What runs measured, by table, row and seed: ``result.json``. Imports no torch."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.tables.damage import Damage
from lit_video.tables.result_keys import missing_key, wrong_key
from lit_video.tables.table import Row, Table
from lit_video.utils.checkpoint_digest import checkpoint_digest
from lit_video.utils.files import read_text

FILE = "result.json"
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
        UserError: the file is damaged, another version's, of another run, or of other weights than the checkpoint
            beside it.
    """
    path = run_dir / FILE
    try:
        result = json.loads(read_text(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); allow it, or run the row again") from None
    except RecursionError:
        raise UserError(f"{path}: damaged (nested too deeply); delete it and run the row again") from None
    except ValueError as error:  # of JSON, of UTF-8, of a number, of the file's size
        reason = str(error).splitlines()[0][:80]
        raise UserError(f"{path}: damaged ({reason}); delete it and run the row again") from None
    if not isinstance(result, dict):
        raise UserError(f"{path}: damaged (no keys and values in it); delete it and run the row again")
    if missing := missing_key(result):
        raise UserError(f"{path}: of another version of lit_video, or damaged (it has no {missing}); run the row again")
    if wrong := wrong_key(result):
        raise UserError(f"{path}: damaged ({wrong}); delete it and run the row again")
    _of_this_run(path, result)
    _of_these_weights(path, result)
    return result


def _of_this_run(path: Path, result: dict[str, Any]) -> None:
    """Refuse what was copied from another run's folder."""
    table, scale, row, seed = ("", "", "", *path.absolute().parts)[-5:-1]
    for key, named in (("table", table), ("scale", scale), ("row", row), ("seed", seed)):
        value = f"seed{result[key]}" if key == "seed" else result[key]
        if value != named:
            raise UserError(f"{path}: says {key} {result[key]!r}, but lies in the folder of {named!r}; move it back")


def _of_these_weights(path: Path, result: dict[str, Any]) -> None:
    """Refuse a result whose checkpoint is there, and is another or damaged."""
    if "weights" not in result:
        return
    checkpoint = path.parent / result["weights"]["file"]
    try:
        same = checkpoint_digest(checkpoint) == result["weights"]["digest"]
    except FileNotFoundError:
        return  # deleted to save space
    except (OSError, ValueError):
        same = False
    if not same:
        raise UserError(f"{path}: of other weights than {checkpoint.name} beside it; delete it and run the row again")


def measured_rows(
    table: Table, runs: Path, seeds: Sequence[int] | None = None, damage: Damage | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Results of every row, by seed, all measured on the same videos and labels, as far as they say.

    Those of other data than the table's first, and seeds that were trained otherwise than the first of their row, are
    left out and put in ``damage``, as damaged ones are.
    """
    damage = damage or Damage()
    measured = {row.name: results(table, runs, row, seeds, damage) for row in table.rows}
    folders = [(table.run_dir(runs, row, one["seed"]), one) for row in table.rows for one in measured[row.name]]
    kept = alike(folders, damage)
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
                damage.add(folder, f"{folder / FILE}: {why}; run one of them again")
        measured = kept
    return measured


def results(table: Table, runs: Path, row: Row, seeds: Sequence[int] | None, damage: Damage) -> list[dict[str, Any]]:
    """Results of a row, by seed: of all seeds, or of the given ones. Damaged ones are put in ``damage``."""
    folders = (runs / table.name / table.scale / row.name).glob("seed*")
    by_seed = {int(folder.name[4:]): folder for folder in folders if folder.name[4:].isdecimal()}
    read = [damage.read(read_result, by_seed[seed]) for seed in sorted(by_seed) if seeds is None or seed in seeds]
    return [result for result in read if result]
