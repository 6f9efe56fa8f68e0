"""Results of a table's runs by row and seed; runs that cannot be compared are refused."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lit_video.errors import UserError
from lit_video.runs.finished import FinishedRun, read_finished, short_value
from lit_video.runs.folder import packed_files, run_folders, seed_of
from lit_video.runs.identity import Identity, differences
from lit_video.runs.result import Override, RunResult
from lit_video.settings.differences import LONGER, Difference, Kind
from lit_video.settings.effects import data_keys
from lit_video.settings.flat import CALLBACKS, OWN, flatten
from lit_video.tables.table import Table

SEED = "seed_everything"  # runs of one row may differ in this setting
OPTIMIZATION = "model.init_args.optimization"  # settings that models of all classes have
CLASS = "model.class_path"
COMPARED: set[Kind] = {"data", "longer", "test", "training"}  # kinds of differences that forbid a comparison
PARTS = {"data": data_keys("folds")}  # settings behind a difference of the videos: those that choose each split

Measured = Mapping[str, Sequence[FinishedRun]]  # runs by row, then by seed


@dataclass(frozen=True)
class _Asked:
    """A run that is finished or about to start, to be compared with finished runs of its table."""

    where: Path | str  # folder, or origin of the settings
    row: str
    identity: Identity
    result: RunResult | None = None  # missing before the run starts


def measured_rows(
    table: Table, runs: Path, seeds: Sequence[int] | None = None, overridden: bool = False
) -> dict[str, list[FinishedRun]]:
    """Return the finished runs of every row by seed, for all seeds or the given ones.

    A run whose settings are not the row's is refused; with ``overridden`` the run has its differences.
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
        _refuse_apart(table, _Asked(folder, row, run.identity, run.result), beside, "move it away, or run it again")
        firsts.setdefault(row, run)
        measured[row].append(replace(run, overridden=_changed(table, run)))
    if not overridden:
        _refuse_overridden(measured)
    return measured


def _changed(table: Table, run: FinishedRun) -> dict[str, Override]:
    """Return the settings that a run overrode, or that the table has changed since; the length of training is first."""
    changed = dict(run.overridden)
    for key, (wanted, used) in table.changed(table.row(run.result.row), flatten(run.identity.settings)).items():
        changed[key] = Override(wanted, used)
    return dict(sorted(changed.items(), key=lambda setting: (not setting[0].startswith(LONGER), setting[0])))


def _refuse_overridden(measured: Measured) -> None:
    """Refuse a run whose settings are not its row's; name the first difference."""
    for row, runs in measured.items():
        for run in runs:
            for key, setting in run.overridden.items():
                what = f"{key} is {short_value(setting.used)}, row {row} sets {short_value(setting.wanted)}"
                raise UserError(f"{run.folder}: {what}; add --overridden to show such rows, labelled")


def refuse_apart(table: Table, runs: Path, row: str, now: Identity, where: str) -> None:
    """Refuse to train a row if its own settings are overridden, or if it cannot be compared with finished rows.

    A longer training is allowed, because the finished rows can be trained longer too, unless they are packed.
    """
    beside = []
    for folder in _folders(table, runs):
        with suppress(UserError):  # damage is reported when the table is read
            if folder.parent.name != row and (run := read_finished(folder)):
                beside.append(run)
    then = "rows are compared: change it for the whole table, or give another --runs"
    if beside:
        _refuse_apart(table, _Asked(where, row, now), beside, then)


def _folders(table: Table, runs: Path) -> list[Path]:
    """Return the folders of a table's finished runs, in the order of its rows and of the seeds."""
    names, found = [row.name for row in table.rows], []
    for folder in run_folders(runs / table.name / table.scale):
        row, seed = folder.parent.name, seed_of(folder)
        if row in names and seed is not None:
            found.append((names.index(row), seed, folder))
    return [folder for _, _, folder in sorted(found)]


def _refuse_apart(table: Table, run: _Asked, beside: Iterable[FinishedRun], then: str) -> None:
    """Refuse a run if it cannot be compared with finished runs of its table."""
    if why := table.overridden(table.row(run.row), flatten(run.identity.settings)):
        raise UserError(f"{run.where}: {why}; {then}")
    apart = f"they do not belong together; {then}"
    for other in beside:
        for each in _apart(table, other, run):
            if each.kind != "longer" or run.result or packed_files(other.folder):
                what = f"{each.key} is {each.now}, but in {other.folder} it is {each.was}"
                raise UserError(f"{run.where}: {what}: {apart}")


def _apart(table: Table, other: FinishedRun, run: _Asked) -> list[Difference]:
    """Return the differences that keep two runs of a table from being compared.

    Starting weights of two rows are compared by name only, since each machine trains its own image model.
    """
    first = table.row(other.result.row)
    second = table.row(run.row)
    was = other.identity
    now = run.identity
    if first is not second:
        was = was.without_weights()
        now = now.without_weights()
    found = [each for each in differences(was, now) if each.kind in COMPARED and each.key != SEED]
    if first is second:
        return found + (_measured_apart(other.result, run.result) if run.result else [])
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


def _measured_apart(other: RunResult, one: RunResult) -> list[Difference]:
    """Return what two seeds of a row measured differently, though it does not depend on the seed."""
    pairs = {
        "params": (other.params, one.params),
        "views": (other.views, one.views),
        "test_videos": (other.test_videos, one.test_videos),
        "global_batch": (other.global_batch, one.global_batch),
        "steps": (other.steps, one.steps),
    }
    return [Difference(name, was, now, "training") for name, (was, now) in pairs.items() if was != now]
