"""Results of a table's runs by row and seed, and the refusal of runs that cannot be compared."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lit_video.errors import UserError
from lit_video.runs.folder import FinishedRun, packed_files, read_finished, run_folders, seed_of, short_value
from lit_video.runs.record import Identity, Override, RunResult, differences
from lit_video.settings.differences import LONGER, Difference, DifferenceKind
from lit_video.settings.effects import data_keys
from lit_video.settings.nested import CALLBACKS, OWN, flatten
from lit_video.tables.table import Table

SEED_KEY = "seed_everything"  # setting in which runs of one row may differ
OPTIMIZATION = "model.init_args.optimization"  # settings that models of all classes have
MODEL_CLASS = "model.class_path"
COMPARED_KINDS: set[DifferenceKind] = {
    "data",
    "longer",
    "test",
    "training",
}  # kinds of differences with which runs cannot be compared
SPLIT_SETTINGS = {
    "data": data_keys("folds")
}  # settings behind a difference of the videos: those that choose each split

RunsByRow = Mapping[str, Sequence[FinishedRun]]  # runs by row, then by seed


@dataclass(frozen=True)
class _Asked:
    """A run, finished or about to start, of which is asked whether it can be compared with finished ones."""

    where: Path | str  # folder, or origin of the settings
    row: str
    identity: Identity
    result: RunResult | None = None  # left out before the run starts


def measured_rows(
    table: Table, runs: Path, seeds: Sequence[int] | None = None, *, overridden: bool = False
) -> dict[str, list[FinishedRun]]:
    """Return the finished runs of every row by seed, for all seeds or the given ones.

    A run whose settings are not its row's is refused; with ``overridden`` it is kept, with these settings recorded.
    """
    measured: dict[str, list[FinishedRun]] = {row.name: [] for row in table.rows}
    firsts: dict[str, FinishedRun] = {}
    for folder in _folders(table, runs):
        if seeds is not None and seed_of(folder) not in seeds:
            continue
        run = read_finished(folder)
        if run is None:
            continue

        row = run.result.row
        beside = [firsts[row]] if row in firsts else firsts.values()
        _refuse_apart(
            table, _Asked(folder, row, run.identity, run.result), beside, then="move it away, or run it again"
        )
        firsts.setdefault(row, run)

        # the user gave other settings, or the table was changed; the length of training comes first
        others = dict(run.overridden)
        for key, (row_value, used) in table.changed(table.row(row), flatten(run.identity.settings)).items():
            others[key] = Override(row_value, used)
        ordered = sorted(others.items(), key=lambda setting: (not setting[0].startswith(LONGER), setting[0]))
        measured[row].append(replace(run, overridden=dict(ordered)))

    for row, of_row in measured.items() if not overridden else ():
        for run in of_row:
            for key, setting in run.overridden.items():
                what = f"{key} is {short_value(setting.used)}, row {row} sets {short_value(setting.wanted)}"
                raise UserError(f"{run.folder}: {what}; add --overridden to show such rows, labelled")
    return measured


def refuse_apart(table: Table, runs: Path, row: str, *, now: Identity, where: str) -> None:
    """Refuse to train a row if its own settings are overridden, or if it cannot be compared with finished rows.

    A longer training is allowed unless the finished rows are packed, because they can be trained longer afterwards.
    """
    beside = []
    for folder in _folders(table, runs):
        with suppress(UserError):  # damage is reported when the table is read
            if folder.parent.name != row and (run := read_finished(folder)):
                beside.append(run)
    then = "rows are compared: change it for the whole table, or give another --runs"
    if beside:
        _refuse_apart(table, _Asked(where, row, now), beside, then=then)


def _folders(table: Table, runs: Path) -> list[Path]:
    """Return the folders of a table's finished runs, in the order of its rows and of the seeds."""
    names = [row.name for row in table.rows]
    numbered = []
    for folder in run_folders(runs / table.name / table.scale):
        row = folder.parent.name
        seed = seed_of(folder)
        if row in names and seed is not None:
            numbered.append((names.index(row), seed, folder))
    return [folder for _, _, folder in sorted(numbered)]


def _refuse_apart(table: Table, run: _Asked, beside: Iterable[FinishedRun], *, then: str) -> None:
    """Refuse a run if it cannot be compared with finished runs of its table."""
    why = table.overridden(table.row(run.row), flatten(run.identity.settings))
    if why:
        raise UserError(f"{run.where}: {why}; {then}")

    for other in beside:
        for difference in _apart(table, other, run):
            if difference.kind == "longer" and not run.result and not packed_files(other.folder):
                continue  # the finished run can be trained longer too
            what = f"{difference.key} is {difference.now}, but in {other.folder} it is {difference.was}"
            raise UserError(f"{run.where}: {what}: they do not belong together; {then}")


def _apart(table: Table, other: FinishedRun, run: _Asked) -> list[Difference]:
    """Return the differences that keep two runs of a table from being compared.

    Two seeds of a row are compared by results that do not depend on the seed; two rows by the settings whose difference
    does not follow from the rows themselves.
    """
    first = table.row(other.result.row)
    second = table.row(run.row)
    if first is second:
        apart = _compared_settings(other.identity, run.identity)
        for name in ("params", "views", "test_videos", "global_batch", "steps") if run.result else ():
            values = (getattr(other.result, name), getattr(run.result, name))
            if values[0] != values[1]:
                apart.append(Difference(name, *values, "training"))
        return apart

    was = other.identity
    now = run.identity
    shared = {"data", CALLBACKS, OWN} | was.flat.keys() & now.flat.keys() | was.weights.keys() & now.weights.keys()
    other_class = was.flat.get(MODEL_CLASS) != now.flat.get(MODEL_CLASS)
    apart = []
    for difference in _compared_settings(was, now):
        key = difference.key
        # classes of models have different defaults
        is_default = other_class and key.startswith("model.init_args") and not key.startswith(OPTIMIZATION)
        settings = SPLIT_SETTINGS.get(key, (key,))
        if key in shared and not is_default and not any(first.differs(second, setting) for setting in settings):
            apart.append(difference)
    return apart


def _compared_settings(was: Identity, now: Identity) -> list[Difference]:
    """Return the differences of kinds that forbid a comparison."""
    return [
        difference
        for difference in differences(was, now)
        if difference.kind in COMPARED_KINDS and difference.key != SEED_KEY
    ]
