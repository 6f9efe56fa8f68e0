"""A request to ``fit`` rows of a table with seeds and settings, and the runs that it asks for."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.files import has_result
from lit_video.tables.overlays import refuse_lost
from lit_video.tables.reading import read_table
from lit_video.tables.table import OF_RUN, WHOLE, Row, Table


@dataclass(frozen=True)
class Request:
    """Rows and seeds to run, the folder of their runs, and their settings."""

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    folder: Path  # parent of all runs' folders
    flags: list[str]  # the user's other settings, unchanged
    single: bool  # one row with one seed
    recipe: str | None = None  # name of a recipe of the scale; by default each family's first recipe
    reuse: bool = False  # take the weights of a finished run with the same training, from any table

    @property
    def runs(self) -> list["Run"]:
        """Runs of every row with every seed, ordered by seed, then by row."""
        return [Run(self, row, seed) for seed in self.seeds for row in self.rows]

    @property
    def files(self) -> list[str]:
        """Flags of the configuration files."""
        return [arg for path in self.configs for arg in ("--config", str(path))]


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
        given = self.request
        recipe = ["--recipe", given.recipe] if given.recipe else []
        reuse = ["--reuse"] if given.reuse else []
        chosen = [*given.files, "--row", self.row.name, "--seeds", str(self.seed), *recipe, *reuse]
        return [sys.executable, "-m", "lit_video", "fit", *chosen, "--runs", str(given.folder), *given.flags]

    @property
    def flags(self) -> list[str]:
        """Lightning's flags: files, the row's settings, the run to start from, the user's flags, the seed."""
        given = self.request
        settings = self.row.settings | ({"model.weights": str(self.start)} if self.start else {})
        return [*given.files, *setting_flags(settings), *given.flags, f"--seed_everything={self.seed}"]

    @property
    def row_flags(self) -> list[str]:
        """Lightning's flags without the user's."""
        return replace(self, request=replace(self.request, flags=[])).flags

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
        short = key.replace(".init_args", "")
        flags = [flag for flag in self.request.flags if flag.replace(".init_args", "").split("=")[0] == f"--{short}"]
        if key and flags:
            return "command line"
        return f"{', '.join(map(str, self.request.configs))}: row {self.row.name}"


def build_request(
    configs: Sequence[Path],
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    runs: Path = Path("runs"),
    recipe: str | None = None,
    flags: Sequence[str] = (),
    reuse: bool = False,
) -> Request:
    """Read a table and its scale's files into a :class:`Request`; ``rows`` are names or numbers, ``None`` for all.

    Raises:
        UserError: a file is wrong, or a row sets another value than a user's own file after the table.
    """
    table = read_table(list(configs), recipe)
    named = {(row := table.row(name)).name: row for text in rows or () for name in text.split(",")}
    chosen = table.rows if rows is None else list(named.values())
    refuse_lost(table, chosen, configs, flags)
    single = len(chosen) == len(seeds) == 1 and (rows is not None or len(table.rows) == 1)
    return Request(table, list(configs), chosen, list(seeds), runs, list(flags), single, recipe, reuse)


def setting_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return settings such as ``model.window`` as flags, a class before its own settings."""
    flags = []
    for key, value in sorted(settings.items(), key=lambda setting: "." in setting[0]):
        if isinstance(value, dict) and key != WHOLE:
            flags.append(f"--{key}=null")  # without null jsonargparse keeps the files' keys
        flags.append(f"--{key}={value if isinstance(value, str) else json.dumps(value)}")
    return flags
