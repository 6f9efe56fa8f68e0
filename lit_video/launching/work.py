"""The runs of a sweep: every row of every table with every seed."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.errors import UserError
from lit_video.tables.table import Row
from lit_video.training.request import Request, build_request

FIT = [sys.executable, "-m", "lit_video", "fit"]


@dataclass(frozen=True)
class Run:
    """A row of a table with a seed."""

    request: Request
    row: Row
    seed: int

    @property
    def name(self) -> str:
        """Table, row and seed, as messages name a run."""
        return f"{self.request.table.name} {self.row.name} seed {self.seed}"

    @property
    def folder(self) -> Path:
        """Of its files."""
        return self.request.table.run_dir(self.request.runs, self.row, self.seed)

    @property
    def log(self) -> Path:
        """What its processes print, where a launcher keeps it."""
        return self.folder / "log.txt"

    @property
    def command(self) -> list[str]:
        """Runs it, in a process of its own."""
        return [*FIT, *self.arguments, *self.request.shared_args]

    @property
    def arguments(self) -> list[str]:
        """Those of ``fit`` that only this run has."""
        return self.request.chosen_args(self.row, self.seed)


@dataclass(frozen=True)
class Sources:
    """What settings come from.

    Args:
        tables: files, one table each.
        overlays: files of a scale, for all tables.
        recipe: of the scale.
    """

    tables: Sequence[Path]
    overlays: Sequence[Path]
    recipe: str | None


def build_requests(
    sources: Sources, rows: Sequence[str] | None, seeds: Sequence[int], runs: Path, flags: Sequence[str]
) -> list[Request]:
    """Read the tables, each with all overlays; a table that is given twice counts once.

    Raises:
        UserError: a file or a table is wrong, or two tables' runs would be in one folder.
    """
    tables, overlays, recipe = dict.fromkeys(sources.tables), sources.overlays, sources.recipe
    requests = [build_request([path, *overlays], rows, seeds, runs, recipe, flags) for path in tables]
    by_name: dict[str, Path] = {}
    for request in requests:
        path = request.configs[0]
        other = by_name.setdefault(request.table.name, path)
        if other != path:
            raise UserError(f"{path}: has the name of {other}, and so its runs the same folders; rename one")
    return requests


def work_list(requests: Sequence[Request]) -> list[Run]:
    """All runs, table by table, seed by seed, in the order of the rows."""
    return [Run(each, row, seed) for each in requests for seed in each.seeds for row in each.rows]
