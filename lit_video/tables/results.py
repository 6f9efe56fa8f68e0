"""Results of runs by table, row and seed; throughput."""

import json
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
from lit_video.utils.files import read_whole

THROUGHPUT = "throughput.json"
PAPERS = "throughput"  # key of a row's paper numbers: frames per second on the paper's machine
# what the runs of a row have in common, as they were measured: a setting may leave it to the machine
OF_ROW = ("params", "views", "test_videos", "global_batch", "steps")
SEED = "seed_everything"  # in which they differ
OPTIMIZATION = "model.init_args.optimization"  # settings that models of all classes have
COMPARED: set[Kind] = {"data", "longer", "test", "training"}  # differences of runs that cannot be compared
# settings by which a row has other videos than the table, as a fold has
VALUES = ("data.train_values", "data.val_values", "data.test_values")


def measured_rows(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> dict[str, list[dict[str, Any]]]:
    """Results of every row, by seed: of all seeds, or of the given ones.

    Raises:
        UserError: a result is damaged, is of other data than the table's first, or was trained otherwise than the
            first of its row.
    """
    named = [(seed_of(folder), folder) for folder in run_folders(runs / table.name / table.scale)]
    folders = sorted((seed, folder) for seed, folder in named if seed is not None)
    wanted = [folder for seed, folder in folders if seeds is None or seed in seeds]
    read = [(each, read_result(each)) for row in table.rows for each in wanted if each.parent.name == row.name]
    measured = [(folder, result) for folder, result in read if result]
    _refuse_mixtures(table, measured)
    return {row.name: [one for _, one in measured if one["row"] == row.name] for row in table.rows}


def refuse_apart(table: Table, runs: Path, row: str, now: Identity, where: str) -> None:
    """Refuse to train a row without its settings, or otherwise than rows that are finished and will be beside it.

    It may train longer, as the others can after it, unless they are packed without a checkpoint.

    Args:
        table: the row's.
        runs: folder of the runs.
        row: name of the row.
        now: identity of the run that is asked for.
        where: origin of its settings, for the message.

    Raises:
        UserError: a setting is not the row's, or not that of a finished row though both set it alike; names the first.
    """
    others = {each.name for each in table.rows} - {row}
    why = table.overridden(table.row(row), now.flat)
    then = "rows are compared: change it for the whole table, or give another --runs"
    for folder in run_folders(runs / table.name / table.scale):
        result = None
        with suppress(UserError):  # damaged: said where its numbers are read
            result = read_result(folder) if folder.parent.name in others else None
        if result and why:
            raise UserError(f"{where}: {why}; {then}")
        for each in _apart(table, result, {"row": row, "identity": asdict(now)}) if result else []:
            if each.kind != "longer" or packed_files(folder):
                raise UserError(f"{where}: {each.key} is {each.now}, in {folder} {each.was}: {then}")


def _refuse_mixtures(table: Table, measured: Sequence[tuple[Path, Mapping[str, Any]]]) -> None:
    """Refuse results without their row's settings, and those trained otherwise than others that they are compared with.

    Results of a row differ in the seed, those of two rows in what these set otherwise.
    """
    firsts: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    then = "move it away, or run it again"
    for folder, one in measured:
        if why := table.overridden(table.row(one["row"]), Identity(**one["identity"]).flat):
            raise UserError(f"{folder}: {why}: {then}")
        first = firsts.get(one["row"])
        for place, other in [first] if first else firsts.values():
            found = [(each.key, each.now, each.was) for each in _apart(table, other, one)]
            found += [(key, one[key], other[key]) for key in OF_ROW if first and other[key] != one[key]]
            for key, here, there in found:
                raise UserError(f"{folder}: {key} is {here}, in {place} {there}: they do not belong together; {then}")
        firsts.setdefault(one["row"], (folder, one))


def _apart(table: Table, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """Differences of two results of a table that keep them from being compared.

    Weights of two rows count by their name, since each machine trains its own image model.
    """
    first, second = table.row(one["row"]), table.row(other["row"])
    was, now = Identity(**one["identity"]), Identity(**other["identity"])
    if first is second:
        return [each for each in differences(was, now) if each.kind in COMPARED and each.key != SEED]
    same_videos = all(first.settings.get(key) == second.settings.get(key) for key in VALUES)
    flat, others = was.flat, now.flat
    same_class = flat.get("model.class_path") == others.get("model.class_path")

    def shared(key: str) -> bool:
        if key == "data":
            return same_videos
        if not same_class and key.startswith("model.init_args") and not key.startswith(OPTIMIZATION):
            return False  # classes have defaults of their own
        return (
            (key == CALLBACKS or key in flat.keys() & others.keys()) and key != SEED and not first.differs(second, key)
        )

    found = differences(replace(was, weights={}), replace(now, weights={}))
    return [each for each in found if each.kind in COMPARED and shared(each.key)]


def read_throughput(folder: Path) -> dict[str, Any] | None:
    """Read the throughput that ``benchmark table`` measured at a table's scale; ``None`` where it was not run.

    Raises:
        UserError: the file is damaged.
    """
    path, again = folder / THROUGHPUT, "delete it and measure again: python -m lit_video benchmark table"
    return read_whole(path, lambda: dict(json.loads(path.read_text(encoding="utf-8"))), again)
