"""The runs of tables: every row with every seed."""

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
        """The run's folder."""
        return self.request.table.run_dir(self.request.runs, self.row, self.seed)

    @property
    def log(self) -> Path:
        """The file of all that its processes print."""
        return self.folder / "log.txt"

    @property
    def command(self) -> list[str]:
        """The command that runs it in a process of its own."""
        return [*FIT, *self.request.run_args(self.row, self.seed)]


def build_requests(
    tables: Sequence[Path],
    overlays: Sequence[Path],
    recipe: str | None,
    rows: Sequence[str] | None,
    seeds: Sequence[int],
    runs: Path,
    flags: Sequence[str],
) -> list[Request]:
    """Read the tables, each with all overlays; a table that is given twice counts once.

    Raises:
        UserError: a file or a table is wrong, or two tables' runs would be in one folder.
    """
    requests = [build_request([path, *overlays], rows, seeds, runs, recipe, flags) for path in dict.fromkeys(tables)]
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


def unfinished(requests: Sequence[Request]) -> list[Run]:
    """The runs without a result, after a check of the settings of all of them.

    Raises:
        UserError: the first mistake in any row of any table.
    """
    from lit_video.training.run import check_rows  # here, because importing torch takes seconds

    left = [Run(request, row, seed) for request in requests for row, seed in check_rows(request)]
    every = len(work_list(requests))
    if len(left) < every:
        print(f"{every - len(left)} of {every} runs are finished, skipped", flush=True)
    return left


def rounds(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that train, then those that ``--reuse`` lets take over what one of these has trained."""
    from lit_video.training.reuse import first_of_each
    from lit_video.training.run import build_row

    firsts = first_of_each([build_row(run.request, run.row, run.seed).resolved() for run in runs])
    divided = [[run for run, first in zip(runs, firsts, strict=True) if first is wanted] for wanted in (True, False)]
    return [each for each in divided if each]
