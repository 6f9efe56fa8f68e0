"""Find the tables and scales with runs below some folders, and read their contents for the page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.errors import UserError
from lit_video.runs.curves import Point, read_curves
from lit_video.runs.folder import RUN, run_folders, seed_of
from lit_video.runs.mistakes import read_mistakes
from lit_video.tables.reading import read_origin, table_at
from lit_video.tables.summary import TableRuns, read_runs
from lit_video.utils.parallel import with_progress


@dataclass(frozen=True)
class Section(TableRuns):
    """A table's runs at a scale, with the contents of their files."""

    curves: Mapping[str, Sequence[Sequence[Point]]]  # by row, then by seed
    mistakes: Mapping[str, tuple[list[dict[str, str]], bytes]]  # by row: mistakes of the first seed, with thumbnails

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the rows that were run, by name."""
        return {row.name: row.label for row in self.table.rows if self.by_row[row.name]}

    @property
    def folds(self) -> set[str]:
        """Rows that are cross-validation folds of another row."""
        names = set[str]()
        for run in self.finished:
            names.update(run.result.folds or ())
        return names


def collect(
    places: Sequence[Path], experiments: Path, damaged: list[UserError] | None = None, overridden: bool = False
) -> list[Section]:
    """Read every table and scale with a finished run in some folders, ordered by name.

    A folder inside a runs folder stands for its whole table and scale. ``overridden``: see :func:`read_runs`.
    """
    scales, sections = set[Path](), dict[tuple[str, str], Section]()
    for place in places:
        for folder in _run_folders(place, damaged):
            scales.add(folder.parents[1])
    for scale_dir in with_progress(sorted(scales), len(scales), "tables read"):
        key = scale_dir.parent.name, scale_dir.name
        if key in sections:
            raise UserError(f"{scale_dir}: table {key[0]} at scale {key[1]} lies in two folders; give one of them")
        try:
            sections[key] = _section(scale_dir, experiments, overridden)
        except UserError as error:
            if damaged is None:
                raise
            damaged.append(error)
    return list(sections.values())


def _run_folders(place: Path, damaged: list[UserError] | None) -> list[Path]:
    """List the folders of finished runs, also linked or packed ones; their absolute paths name table and row."""
    folders = run_folders(Path(os.path.abspath(place)), damaged)
    if not folders and not place.exists():
        raise UserError(f"{place}: no such folder; give a runs folder, or one of a table, scale, row or seed in it")
    if not folders and not damaged:
        raise UserError(f"{place}: no finished run below (no run.json); train one: lit_video fit --config ...")
    for folder in folders:
        if len(folder.parts) < 5 or seed_of(folder) is None:
            raise UserError(f"{folder / RUN}: not in a folder TABLE/SCALE/ROW/seedK, as fit makes them")
    return folders


def _section(scale_dir: Path, experiments: Path, overridden: bool) -> Section:
    runs, name, table = scale_dir.parents[1], scale_dir.parent.name, read_origin(scale_dir)
    if table is None:
        path = experiments / f"{name}.yaml"
        if not path.is_file():
            raise UserError(f"{scale_dir.parent}: no {path}; give the folder of {name}.yaml: --experiments DIR")
        table = table_at(path, scale_dir.name)
    found = read_runs(table, runs, overridden=overridden)
    curves, mistakes = {}, {}
    for row in table.rows:
        folders = [run.folder for run in found.by_row[row.name]]
        curves[row.name] = list(filter(None, map(read_curves, folders)))
        if folders and (shown := read_mistakes(folders[0])):
            mistakes[row.name] = shown
    return Section(**vars(found), curves=curves, mistakes=mistakes)
