"""Results of a table's runs by row and seed; runs that cannot be compared are refused."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.folder import packed_files, run_folders, seed_of
from lit_video.runs.identity import Identity, differences
from lit_video.runs.result import read_result, short_value
from lit_video.settings.differences import LONGER, Difference, Kind
from lit_video.settings.effects import data_keys
from lit_video.settings.flat import CALLBACKS, OWN, flatten
from lit_video.tables.table import Table

OF_ROW = ("params", "views", "test_videos", "global_batch", "steps")  # measured, equal in all seeds of a row
SEED = "seed_everything"  # runs of one row may differ in this setting
OPTIMIZATION = "model.init_args.optimization"  # settings that models of all classes have
CLASS = "model.class_path"
COMPARED: set[Kind] = {"data", "longer", "test", "training"}  # kinds of differences that forbid a comparison
PARTS = {"data": data_keys("folds")}  # settings behind a difference of the videos: those that choose each split


def measured_rows(
    table: Table, runs: Path, seeds: Sequence[int] | None = None, overridden: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Return the results of every row by seed, with their folders, for all seeds or the given ones.

    A run whose settings are not the row's is refused; with ``overridden`` its differences are in its result.
    """
    measured: dict[str, list[dict[str, Any]]] = {row.name: [] for row in table.rows}
    firsts: dict[str, tuple[Path, dict[str, Any]]] = {}
    for folder in _folders(table, runs):
        if (seeds is None or seed_of(folder) in seeds) and (one := read_result(folder)):
            row, beside = one["row"], firsts
            if row in firsts:
                beside = {row: firsts[row]}
            _refuse_apart(table, (folder, one), beside.values(), "move it away, or run it again")
            firsts.setdefault(row, (folder, one))
            measured[row].append(one | {"folder": folder, "overridden": _changed(table, one)})
    if not overridden:
        _refuse_overridden(measured)
    return measured


def _changed(table: Table, result: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """Return the settings that a run overrode, or that the table has changed since: the row's value and the run's.

    The length of the training comes first.
    """
    now = table.changed(table.row(result["row"]), flatten(result["identity"]["settings"]))
    changed = dict(result.get("overridden", {})) | now
    return dict(sorted(changed.items(), key=lambda each: (not each[0].startswith(LONGER), each[0])))


def _refuse_overridden(measured: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuse a run whose settings are not its row's; name the first difference."""
    for row, results in measured.items():
        for result in results:
            for key, (wanted, used) in result["overridden"].items():
                what = f"{key} is {short_value(used)}, row {row} sets {short_value(wanted)}"
                raise UserError(f"{result['folder']}: {what}; add --overridden to show such rows, labelled")


def refuse_apart(table: Table, runs: Path, row: str, now: Identity, where: str) -> None:
    """Refuse to train a row if its own settings are overridden, or if it cannot be compared with finished rows.

    A longer training is allowed, because the finished rows can be trained longer too, unless they are packed.
    """
    beside = []
    for folder in _folders(table, runs):
        with suppress(UserError):  # damage is reported when the table is read
            if folder.parent.name != row and (result := read_result(folder)):
                beside.append((folder, result))
    then = "rows are compared: change it for the whole table, or give another --runs"
    if beside:
        _refuse_apart(table, (where, {"row": row, "identity": asdict(now)}), beside, then)


def _folders(table: Table, runs: Path) -> list[Path]:
    """Return the folders of a table's finished runs, in the order of its rows and of the seeds."""
    names, found = [row.name for row in table.rows], []
    for folder in run_folders(runs / table.name / table.scale):
        row, seed = folder.parent.name, seed_of(folder)
        if row in names and seed is not None:
            found.append((names.index(row), seed, folder))
    return [folder for _, _, folder in sorted(found)]


def _refuse_apart(
    table: Table, run: tuple[Path | str, Mapping[str, Any]], beside: Iterable[tuple[Path, dict[str, Any]]], then: str
) -> None:
    """Refuse ``run``, finished or about to start, if it cannot be compared with finished runs of its table."""
    where, one = run
    if why := table.overridden(table.row(one["row"]), flatten(one["identity"]["settings"])):
        raise UserError(f"{where}: {why}; {then}")
    apart = f"they do not belong together; {then}"
    for folder, other in beside:
        for each in _apart(table, other, one):
            if each.kind != "longer" or "metrics" in one or packed_files(folder):
                raise UserError(f"{where}: {each.key} is {each.now}, but in {folder} it is {each.was}: {apart}")


def _apart(table: Table, other: Mapping[str, Any], one: Mapping[str, Any]) -> list[Difference]:
    """Return the differences that keep two runs of a table from being compared.

    Starting weights of two rows are compared by name only, since each machine trains its own image model.
    """
    first, second = table.row(other["row"]), table.row(one["row"])
    was, now = Identity(**other["identity"]), Identity(**one["identity"])
    if first is not second:
        was, now = replace(was, weights={}), replace(now, weights={})
    found = [each for each in differences(was, now) if each.kind in COMPARED and each.key != SEED]
    if first is second:
        return found + [Difference(key, other[key], one[key], "training") for key in OF_ROW if one[key] != other[key]]
    both = {"data", CALLBACKS, OWN} | was.flat.keys() & now.flat.keys()
    other_class = was.flat.get(CLASS) != now.flat.get(CLASS)
    apart = []
    for each in found:
        settings = PARTS.get(each.key, (each.key,))
        # model classes have different defaults
        default = other_class and each.key.startswith("model.init_args") and not each.key.startswith(OPTIMIZATION)
        if each.key in both and not default and not any(first.differs(second, key) for key in settings):
            apart.append(each)
    return apart
