"""Find the tables and scales with runs below some folders, and read their contents for the page."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.folder import RUN, Point, read_curves, run_folders, seed_of
from lit_video.runs.predictions import read_mistakes
from lit_video.tables.reading import read_origin, table_at
from lit_video.tables.summary import TableRuns, read_runs
from lit_video.utils.parallel import with_progress


@dataclass(frozen=True)
class Section(TableRuns):
    """A table's runs at a scale, with the contents of their files."""

    curves: Mapping[str, Sequence[Sequence[Point]]]  # by row, then by seed
    mistakes: Mapping[str, tuple[list[dict[str, str]], bytes]]  # by row: of the first seed, with strips of frames

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
    places: Sequence[Path], experiments: Path, *, damaged: list[UserError] | None = None, overridden: bool = False
) -> list[Section]:
    """Read every table and scale with a finished run in some folders, ordered by name.

    The folder of a row or a seed stands for its whole table and scale. Errors of damaged runs are raised, or added to
    ``damaged`` if it is given. ``overridden``: see :func:`~lit_video.tables.summary.read_runs`.
    """
    scales = set[Path]()
    for place in places:
        # runs may be linked or packed; their absolute paths name table and row
        folders = run_folders(Path(os.path.abspath(place)), damaged)
        if not folders and not place.exists():
            raise UserError(f"{place}: no such folder; give a runs folder, or one of a table, scale, row or seed in it")
        if not folders and not damaged:
            raise UserError(f"{place}: no finished run below (no run.json); train one: lit_video fit --config ...")
        for folder in folders:
            if len(folder.parts) < 5 or seed_of(folder) is None:
                raise UserError(f"{folder / RUN}: not in a folder TABLE/SCALE/ROW/seedK, as fit makes them")
            scales.add(folder.parents[1])

    sections: dict[tuple[str, str], Section] = {}
    for scale_dir in with_progress(sorted(scales), len(scales), "tables read"):
        table = scale_dir.parent.name
        scale = scale_dir.name
        if (table, scale) in sections:
            raise UserError(f"{scale_dir}: table {table} at scale {scale} lies in two folders; give one of them")

        try:
            sections[table, scale] = _section(scale_dir, experiments, overridden)
        except UserError as error:
            if damaged is None:
                raise
            damaged.append(error)
    return list(sections.values())


def _section(scale_dir: Path, experiments: Path, overridden: bool) -> Section:
    """Read the runs of a table at a scale, their curves, and the mistakes of each row's first seed."""
    table = read_origin(scale_dir)
    if table is None:
        name = scale_dir.parent.name
        path = experiments / f"{name}.yaml"
        if not path.is_file():
            raise UserError(f"{scale_dir.parent}: no {path}; give the folder of {name}.yaml: --experiments DIR")
        table = table_at(path, scale_dir.name)
    runs = read_runs(table, scale_dir.parents[1], overridden=overridden)

    curves = {}
    mistakes = {}
    for row in table.rows:
        folders = [run.folder for run in runs.by_row[row.name]]
        of_seeds = [read_curves(folder) for folder in folders]
        curves[row.name] = [curve for curve in of_seeds if curve]

        first_mistakes = read_mistakes(folders[0]) if folders else None
        if first_mistakes:
            mistakes[row.name] = first_mistakes
    of_table: dict[str, Any] = {field.name: getattr(runs, field.name) for field in fields(runs)}
    return Section(**of_table, curves=curves, mistakes=mistakes)
