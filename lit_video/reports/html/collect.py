"""Find the tables and scales that have runs below some folders, and read what the page shows of each."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.tables.reading import read_origin, table_at
from lit_video.tables.results import Point, read_curves, read_throughput
from lit_video.tables.run_files import RUN, run_folders
from lit_video.tables.summary import TableRuns, read_runs, summarise
from lit_video.tables.table import Table


@dataclass(frozen=True)
class Section:
    """A table at a scale."""

    read: TableRuns
    data: dict[str, Any]  # their summary, as ``table`` prints it
    curves: Mapping[str, Sequence[Sequence[Point]]]  # of each row, by seed
    throughput: dict[str, Any] | None  # where it was measured

    @property
    def table(self) -> Table:
        """At the scale of the runs."""
        return self.read.table

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the rows that were run, by name."""
        return {row.name: row.label for row in self.table.rows if self.read.results[row.name]}


def collect(places: Sequence[Path], experiments: Path) -> list[Section]:
    """Every table and scale with a finished run in the places, ordered by name.

    A place is a runs folder, or a folder in it, of which the whole table and scale is read.

    Raises:
        UserError: there are no runs, one table lies in two places, or a run's file is damaged.
    """
    scales = sorted({folder.parents[1] for place in places for folder in _run_folders(place)})
    sections: dict[tuple[str, str], Section] = {}
    for scale_dir in scales:
        key = scale_dir.parent.name, scale_dir.name
        if key in sections:
            raise UserError(f"{scale_dir}: table {key[0]} at scale {key[1]} lies in two places; give one of them")
        sections[key] = _section(scale_dir, experiments)
    return list(sections.values())


def _run_folders(place: Path) -> list[Path]:
    """Folders of finished runs, linked and packed ones too, as absolute paths, so that they have all their names."""
    folders = run_folders(Path(os.path.abspath(place)))
    if not folders and not place.exists():
        raise UserError(f"{place}: no such folder; give a runs folder, or one of a table, scale, row or seed in it")
    if not folders:
        raise UserError(
            f"{place}: no finished run below (no run.json); train one: python -m lit_video fit --config ..."
        )
    for folder in folders:
        seed = folder.name.removeprefix("seed")
        if len(folder.parts) < 5 or seed == folder.name or not seed.isdigit():
            raise UserError(f"{folder / RUN}: not in a folder TABLE/SCALE/ROW/seedK, as fit makes them")
    return folders


def _section(scale_dir: Path, experiments: Path) -> Section:
    runs, table = scale_dir.parents[1], _table(scale_dir, experiments)
    found = read_runs(table, runs)
    curves = {}
    for row in table.rows:
        folders = [table.run_dir(runs, row, result["seed"]) for result in found.results[row.name]]
        curves[row.name] = [curve for folder in folders if (curve := read_curves(folder))]
    return Section(found, summarise(found), curves, read_throughput(scale_dir))


def _table(scale_dir: Path, experiments: Path) -> Table:
    if table := read_origin(scale_dir):
        return table
    name = scale_dir.parent.name
    path = experiments / f"{name}.yaml"
    if not path.is_file():
        raise UserError(f"{scale_dir.parent}: no {path}; give the folder of {name}.yaml: --experiments DIR")
    return table_at(path, scale_dir.name)
