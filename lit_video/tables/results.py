"""Results of runs by table, row and seed; throughput."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.files import packed_files, run_folders, seed_of
from lit_video.runs.identity import CALLBACKS, Difference, Identity, Kind, differences
from lit_video.runs.results import read_result
from lit_video.tables.table import Table
from lit_video.utils.settings import data_names

# measured facts that must agree across a row's seeds
OF_ROW = ("params", "views", "test_videos", "global_batch", "steps")
SEED = "seed_everything"  # runs of one row may differ in this setting
OPTIMIZATION = "model.init_args.optimization"  # settings that models of all classes have
COMPARED: set[Kind] = {"data", "longer", "test", "training"}  # kinds of differences that forbid a comparison
# settings that give a row (a fold) other videos than the table
VALUES = tuple(f"data.{name}" for name in data_names("folds"))


def measured_rows(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return the results of every row by seed, for all seeds or the given ones."""
    measured: list[tuple[Path, dict[str, Any]]] = []
    firsts: dict[str, tuple[Path, dict[str, Any]]] = {}
    for folder in _folders(table, runs):
        if (seeds is None or seed_of(folder) in seeds) and (one := read_result(folder)):
            beside = [firsts[one["row"]]] if one["row"] in firsts else list(firsts.values())
            _refuse_apart(table, (folder, one), beside, "move it away, or run it again")
            firsts.setdefault(one["row"], (folder, one))
            measured.append((folder, one))
    return {row.name: [one for _, one in measured if one["row"] == row.name] for row in table.rows}


def refuse_apart(table: Table, runs: Path, row: str, now: Identity, where: str) -> None:
    """Refuse to train a row that lacks its settings, or that differs from finished rows of its table.

    Training longer is allowed because the others can follow, unless they are packed (without a checkpoint). ``where``
    names the origin of the settings in the message.
    """
    beside = []
    for folder in _folders(table, runs):
        with suppress(UserError):  # damage is reported when the table is read
            if folder.parent.name != row and (result := read_result(folder)):
                beside.append((folder, result))
    if beside:
        one = {"row": row, "identity": asdict(now)}
        _refuse_apart(
            table, (where, one), beside, "rows are compared: change it for the whole table, or give another --runs"
        )


def _folders(table: Table, runs: Path) -> list[Path]:
    """Return the folders of a table's finished runs, in the order of its rows and of the seeds."""
    names = [row.name for row in table.rows]
    found = [folder for folder in run_folders(runs / table.name / table.scale) if folder.parent.name in names]
    seeds = {folder: seed for folder in found if (seed := seed_of(folder)) is not None}
    return sorted(seeds, key=lambda folder: (names.index(folder.parent.name), seeds[folder]))


def _refuse_apart(
    table: Table, run: tuple[Path | str, Mapping[str, Any]], beside: Sequence[tuple[Path, dict[str, Any]]], then: str
) -> None:
    """Refuse a run, finished or only asked for, that cannot be compared with finished ones of its table."""
    where, one = run
    if why := table.overridden(table.row(one["row"]), Identity(**one["identity"]).flat):
        raise UserError(f"{where}: {why}; {then}")
    apart = f"they do not belong together; {then}"
    for folder, other in beside:
        for each in _apart(table, other, one):
            if each.kind != "longer" or "metrics" in one or packed_files(folder):
                raise UserError(f"{where}: {each.key} is {each.now}, in {folder} {each.was}: {apart}")
        for key in OF_ROW if one["row"] == other["row"] else ():
            if one[key] != other[key]:
                raise UserError(f"{where}: {key} is {one[key]}, in {folder} {other[key]}: {apart}")


def _apart(table: Table, other: Mapping[str, Any], one: Mapping[str, Any]) -> list[Difference]:
    """Return the differences that keep two runs of a table from being compared.

    Weights of two rows are compared by name only, since each machine trains its own image model.
    """
    first, second = table.row(other["row"]), table.row(one["row"])
    was, now = Identity(**other["identity"]), Identity(**one["identity"])
    if first is not second:
        was, now = replace(was, weights={}), replace(now, weights={})
    found = [each for each in differences(was, now) if each.kind in COMPARED and each.key != SEED]
    if first is second:
        return found
    same_videos = all(first.settings.get(key) == second.settings.get(key) for key in VALUES)
    both = {"data", CALLBACKS} | was.flat.keys() & now.flat.keys()
    if was.settings.get("model", {}).get("class_path") != now.settings.get("model", {}).get("class_path"):
        # classes have defaults of their own
        both = {key for key in both if not key.startswith("model.init_args") or key.startswith(OPTIMIZATION)}
    shared = {key for key in both if (same_videos if key == "data" else not first.differs(second, key))}
    return [each for each in found if each.key in shared]
