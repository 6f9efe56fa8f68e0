"""Runs below some folders, by table and scale, with the contents of their files. Imports no torch."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.reports.html.compatibility import refuse_mixtures
from lit_video.tables.damage import Damage
from lit_video.tables.learning_curve import Point, read_curves
from lit_video.tables.origin import read_origin
from lit_video.tables.predictions import Predictions, read_predictions
from lit_video.tables.reading import table_at
from lit_video.tables.results import FILE, read_result
from lit_video.tables.run_files import run_folders
from lit_video.tables.summary import averages, row_summary
from lit_video.tables.table import Row, Table
from lit_video.tables.throughput import read_throughput


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, ``result.json``, its test's predictions (``None`` where not kept), its curve."""

    folder: Path
    result: dict[str, Any]
    predictions: Predictions | None
    curve: Sequence[Point]


@dataclass(frozen=True)
class Section:
    """A table at a scale.

    Args:
        table: the paper's.
        folder: of the scale.
        runs: by row name, seeds ascending.
        rows: all of the table's, as :func:`~lit_video.tables.summary.row_summary` gives them.
        throughput: measured, where it was.
        left_out: a line for every damaged file.
    """

    table: Table
    folder: Path
    runs: Mapping[str, Sequence[Run]]
    rows: list[dict[str, Any]]
    throughput: dict[str, Any] | None
    left_out: Sequence[str]

    @property
    def averages(self) -> dict[str, float]:
        """Our mean over seeds of the table's metric, of the rows that have it."""
        return averages(self.rows, self.table.metric)

    def of(self, row: Row) -> Sequence[Run]:
        """Runs of a row, none where it was not run."""
        return self.runs.get(row.name, ())

    def predictions(self, row: Row) -> list[Predictions]:
        """Those of a row's runs that kept them."""
        return [run.predictions for run in self.of(row) if run.predictions]


def collect(places: Sequence[Path], experiments: Path, damage: Damage | None = None) -> list[Section]:
    """Every table and scale with a finished run in the places, ordered by name.

    Args:
        places: a runs folder, or a folder of a table, scale, row or seed in it.
        experiments: folder of the tables' YAML files.
        damage: where damaged files are put, which are left out.

    Raises:
        UserError: there are no runs, or runs of one table do not belong together.
    """
    groups: dict[Path, list[Path]] = {}
    for folder in dict.fromkeys(folder for place in places for folder in _run_folders(place)):
        groups.setdefault(folder.parents[1], []).append(folder)
    sections: dict[tuple[str, str], Section] = {}
    for scale_dir, folders in sorted(groups.items()):
        section = _section(scale_dir, folders, experiments, damage or Damage())
        key = section.table.name, section.table.scale
        if key in sections:
            one, other = sections[key].folder, section.folder
            raise UserError(f"{other}: table {key[0]} at scale {key[1]} lies in {one} too; give one of the two")
        sections[key] = section
    return list(sections.values())


def _run_folders(place: Path) -> list[Path]:
    """Folders of finished runs, linked and packed ones too, as absolute paths, so that they have all their names."""
    folders = run_folders(Path(os.path.abspath(place)))
    if not folders and not place.exists():
        raise UserError(f"{place}: no such folder; give a runs folder, or one of a table, scale, row or seed in it")
    if not folders:
        raise UserError(
            f"{place}: no finished run below (no result.json); train one: python -m lit_video fit --config ..."
        )
    for folder in folders:
        seed = folder.name.removeprefix("seed")
        if len(folder.parts) < 5 or seed == folder.name or not seed.isdigit():
            raise UserError(f"{folder / FILE}: not in a folder TABLE/SCALE/ROW/seedK, as fit makes them")
    return folders


def _section(scale_dir: Path, folders: Sequence[Path], experiments: Path, damage: Damage) -> Section:
    table = _table(scale_dir, experiments)
    runs: dict[str, list[Run]] = {row.name: [] for row in table.rows}
    for folder in sorted(folders, key=lambda folder: int(folder.name[4:])):
        row = folder.parent.name
        if row not in runs:
            raise UserError(f"{folder.parent}: {table.path} has no row {row!r}; rows: {', '.join(runs)}")
        run = _read_run(folder, damage)
        runs[row] += [run] if run else []
    by_row = {row: each for row, each in runs.items() if each}
    refuse_mixtures([(run.folder, run.result, run.predictions) for each in by_row.values() for run in each])
    throughput = damage.read(read_throughput, scale_dir)
    rows = [
        row_summary(row, [run.result for run in runs[row.name]], len(damage.of(scale_dir / row.name)))
        for row in table.rows
    ]
    return Section(table, scale_dir, by_row, rows, throughput, damage.of(scale_dir))


def _table(scale_dir: Path, experiments: Path) -> Table:
    if table := read_origin(scale_dir):
        return table
    name = scale_dir.parent.name
    path = experiments / f"{name}.yaml"
    if not path.is_file():
        raise UserError(f"{scale_dir.parent}: no {path}; give the folder of {name}.yaml: --experiments DIR")
    return table_at(path, scale_dir.name)


def _read_run(folder: Path, damage: Damage) -> Run | None:
    """A run with what of it is not damaged; ``None`` without a result."""
    result = damage.read(read_result, folder)
    if result is None:
        return None
    predictions = damage.read(partial(read_predictions, videos=result["test_videos"]), folder)
    curve = damage.read(read_curves, folder) or ()
    return Run(folder, result, predictions, curve)
