"""A request to ``fit`` rows of a table with seeds and settings, and the runs that it asks for."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lit_video.errors import UserError
from lit_video.runs.folder import has_result
from lit_video.settings.flags import Given
from lit_video.settings.nested import Nested, short_key
from lit_video.tables.overlays import refuse_lost
from lit_video.tables.reading import read_table
from lit_video.tables.table import OF_RUN, Row, Table
from lit_video.training.layers import of_files, of_row, with_given


@dataclass(frozen=True)
class Request:
    """Rows and seeds to run, the folder of their runs, and their settings."""

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    folder: Path  # parent of all runs' folders
    given: list[Given]  # the user's settings on the command line
    single: bool  # one row with one seed
    recipe: str | None = None  # name of a recipe of the scale; by default each family's first recipe
    reuse: bool = False  # take the weights of a finished run with the same training, from any table

    @property
    def runs(self) -> list["Run"]:
        """Runs of every row with every seed, ordered by seed, then by row."""
        return [Run(self, row, seed) for seed in self.seeds for row in self.rows]

    @cached_property
    def files(self) -> Nested:
        """Settings of the configuration files, merged; later files win."""
        return of_files(self.configs)


@dataclass(frozen=True)
class Run:
    """A row of a table with a seed."""

    request: Request
    row: Row
    seed: int

    @property
    def label(self) -> str:
        """Row and seed, for messages about one table."""
        return f"{self.row.name} seed {self.seed}"

    @property
    def name(self) -> str:
        """Table, row and seed, for messages about several tables."""
        return f"{self.request.table.name} {self.label}"

    @property
    def folder(self) -> Path:
        """The run's folder, ``RUNS/TABLE/SCALE/ROW/seedK``."""
        return self.request.table.run_dir(self.request.folder, self.row, self.seed)

    @property
    def log(self) -> Path:
        """File of the output of the run's processes."""
        return self.folder / "log.txt"

    @property
    def command(self) -> list[str]:
        """Command that executes the run in its own process."""
        return [sys.executable, "-m", "lit_video", *self.words]

    @property
    def words(self) -> list[str]:
        """Words of the command line that ask for the run, whoever asked for it."""
        request = self.request
        files = [word for path in request.configs for word in ("--config", str(path))]
        chosen = ["--row", self.row.name, "--seeds", str(self.seed), "--runs", str(request.folder)]
        if request.recipe:
            chosen += ["--recipe", request.recipe]
        if request.reuse:
            chosen.append("--reuse")
        flags = [setting.flag for setting in request.given]
        return ["fit", *files, *chosen, *flags]

    @property
    def settings(self) -> Nested:
        """Settings of the run: the files', the row's, the run to start from, the user's, the seed; later ones win."""
        return with_given(self.row_settings, self.request.given) | {"seed_everything": self.seed}

    @property
    def row_settings(self) -> Nested:
        """Settings of the run without the user's."""
        settings = of_row(self.request.files, self.row, self.start)
        return settings | {"seed_everything": self.seed}

    @property
    def start(self) -> Path | None:
        """Folder of the run to start from, ``run:TABLE/SCALE/ROW`` with this seed; ``None`` if the row names no run."""
        named = str(self.row.settings.get("model.weights"))
        return self.request.folder / named[len(OF_RUN) :] / f"seed{self.seed}" if named.startswith(OF_RUN) else None

    def refuse_unfinished_start(self, weights: str | None) -> None:
        """Refuse to start from the weights of a run that is not finished."""
        if self.start and weights == str(self.start) and not has_result(self.start):
            table, scale, row = self.start.parts[-4:-1]
            before = f"--config {table} --config scale/{scale} --row {row} --seeds {self.seed}"
            advice = f"first run lit_video fit {before} --runs {self.request.folder}"
            raise UserError(f"model.weights: {self.start} is not finished: {advice}, or give other --model.weights")

    def origin(self, key: str = "") -> str:
        """Name a setting's origin for messages: the command line, or the files and the row."""
        short = short_key(key)
        if any(setting.key == short for setting in self.request.given):
            return "command line"
        return f"{', '.join(map(str, self.request.configs))}: row {self.row.name}"


def build_request(
    configs: Sequence[Path],
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    runs: Path = Path("runs"),
    recipe: str | None = None,
    given: Sequence[Given] = (),
    reuse: bool = False,
) -> Request:
    """Read a table and its scale's files into a :class:`Request`; ``rows`` are names or numbers, ``None`` for all.

    Raises:
        UserError: a file is wrong, or a row sets another value than a user's own file after the table.
    """
    table = read_table(list(configs), recipe)
    named = {(row := table.row(name)).name: row for text in rows or () for name in text.split(",")}
    chosen = table.rows if rows is None else list(named.values())
    refuse_lost(table, chosen, configs, given)
    single = len(chosen) == len(seeds) == 1 and (rows is not None or len(table.rows) == 1)
    return Request(table, list(configs), chosen, list(seeds), runs, list(given), single, recipe, reuse)
