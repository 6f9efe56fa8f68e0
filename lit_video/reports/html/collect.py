"""Find the tables and scales that have runs below some folders, and read what the page shows of each."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.tables.damage import Damage
from lit_video.tables.learning_curve import Point, read_curves
from lit_video.tables.origin import read_origin
from lit_video.tables.reading import table_at
from lit_video.tables.results import FILE
from lit_video.tables.run_files import run_folders
from lit_video.tables.summary import TableRuns, averages, read_runs, summarise
from lit_video.tables.table import Table
from lit_video.tables.throughput import read_throughput


@dataclass(frozen=True)
class Section:
    """A table at a scale.

    Args:
        read: its runs.
        data: their :func:`~lit_video.tables.summary.summary`, as ``table`` prints it.
        curves: of each row, those that its seeds kept.
        throughput: measured, where it was.
    """

    read: TableRuns
    data: dict[str, Any]
    curves: Mapping[str, Sequence[Sequence[Point]]]
    throughput: dict[str, Any] | None

    @property
    def table(self) -> Table:
        """At the scale of the runs."""
        return self.read.table

    @property
    def labels(self) -> dict[str, str]:
        """Of the rows that were run, by name."""
        return {row.name: row.label for row in self.table.rows if self.read.results[row.name]}

    @property
    def averages(self) -> dict[str, float]:
        """Our mean over seeds of the table's metric, of the rows that have it."""
        return averages(self.data["rows"], self.table.metric)


def collect(places: Sequence[Path], experiments: Path, damage: Damage | None = None) -> list[Section]:
    """Every table and scale with a finished run in the places, ordered by name.

    Args:
        places: a runs folder, or a folder in it: the whole table and scale is read.
        experiments: folder of the tables' YAML files.
        damage: where damaged files are put, which are left out.

    Raises:
        UserError: there are no runs, or one table lies in two places.
    """
    scales = sorted({folder.parents[1] for place in places for folder in _run_folders(place)})
    sections: dict[tuple[str, str], Section] = {}
    for scale_dir in scales:
        key = scale_dir.parent.name, scale_dir.name
        if key in sections:
            raise UserError(f"{scale_dir}: table {key[0]} at scale {key[1]} lies in two places; give one of them")
        sections[key] = _section(scale_dir, experiments, damage or Damage())
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


def _section(scale_dir: Path, experiments: Path, damage: Damage) -> Section:
    runs, table = scale_dir.parents[1], _table(scale_dir, experiments)
    found = read_runs(table, runs, None, damage)
    curves = {}
    for row in table.rows:
        folders = [table.run_dir(runs, row, result["seed"]) for result in found.results[row.name]]
        curves[row.name] = [curve for folder in folders if (curve := damage.read(read_curves, folder))]
    throughput = damage.read(read_throughput, scale_dir)
    found = replace(found, left_out=damage.of(scale_dir))  # with the curves and the throughput
    return Section(found, summarise(found), curves, throughput)


def _table(scale_dir: Path, experiments: Path) -> Table:
    if table := read_origin(scale_dir):
        return table
    name = scale_dir.parent.name
    path = experiments / f"{name}.yaml"
    if not path.is_file():
        raise UserError(f"{scale_dir.parent}: no {path}; give the folder of {name}.yaml: --experiments DIR")
    return table_at(path, scale_dir.name)
