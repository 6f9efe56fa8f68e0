"""Request to ``fit``: a table, its rows, seeds and settings; its runs."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.files import has_result
from lit_video.tables.reading import read_table
from lit_video.tables.table import OF_RUN, Row, Table

WHOLE = "model.size"  # a mapping that is always given whole, and takes no null


@dataclass(frozen=True)
class Request:
    """Rows and seeds to run, the folder of their runs, and their settings."""

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    folder: Path  # where all runs are kept
    flags: list[str]  # all other settings, as they were given
    single: bool  # one row with one seed
    recipe: str | None = None  # name of one of the scale's; absent: the first one of each family
    reuse: bool = False  # a row takes the weights of a finished run, of whatever table, that was trained alike

    @property
    def runs(self) -> list["Run"]:
        """Every row with every seed: seed by seed, in the order of the rows."""
        return [Run(self, row, seed) for seed in self.seeds for row in self.rows]

    @property
    def files(self) -> list[str]:
        """The files as flags."""
        return [arg for path in self.configs for arg in ("--config", str(path))]


@dataclass(frozen=True)
class Run:
    """A row of a table with a seed."""

    request: Request
    row: Row
    seed: int

    @property
    def label(self) -> str:
        """Row and seed, as messages name a run of one table."""
        return f"{self.row.name} seed {self.seed}"

    @property
    def name(self) -> str:
        """Table, row and seed, as messages of several tables name a run."""
        return f"{self.request.table.name} {self.label}"

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self.request.table.run_dir(self.request.folder, self.row, self.seed)

    @property
    def log(self) -> Path:
        """The file of all that its processes print."""
        return self.folder / "log.txt"

    @property
    def command(self) -> list[str]:
        """The command that runs it in a process of its own."""
        given = self.request
        recipe = ["--recipe", given.recipe] if given.recipe else []
        reuse = ["--reuse"] if given.reuse else []
        chosen = [*given.files, "--row", self.row.name, "--seeds", str(self.seed), *recipe, *reuse]
        return [sys.executable, "-m", "lit_video", "fit", *chosen, "--runs", str(given.folder), *given.flags]

    @property
    def flags(self) -> list[str]:
        """Flags for the Lightning command line: files, then the row's settings, then the user's flags.

        The row comes after all files, overlays too: what a table varies must hold at every scale.
        """
        given = self.request
        settings = self.row.settings | ({"model.weights": str(self.start)} if self.start else {})
        return [*given.files, *setting_flags(settings), *given.flags, f"--seed_everything={self.seed}"]

    @property
    def start(self) -> Path | None:
        """Folder of the run that this one starts from (``run:TABLE/SCALE/ROW``), of the same seed; mostly ``None``."""
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
        """Name a setting's origin for messages: the user's flag, the row, or the files."""
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
    """Read a table from its file and those of a scale, for a :class:`Request`.

    Rows are named, or numbered, also several with commas; ``None`` is all of them. Flags are ``--data.X=Y``, ....
    """
    table = read_table(list(configs), recipe)
    named = {(row := table.row(name)).name: row for text in rows or () for name in text.split(",")}
    chosen = table.rows if rows is None else list(named.values())
    single = len(chosen) == len(seeds) == 1 and (rows is not None or len(table.rows) == 1)
    return Request(table, list(configs), chosen, list(seeds), runs, list(flags), single, recipe, reuse)


def setting_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return settings by their names, such as ``model.window``, as flags; a class before the settings that it takes."""
    flags = []
    for key, value in sorted(settings.items(), key=lambda setting: "." in setting[0]):
        if isinstance(value, dict) and key != WHOLE:
            flags.append(f"--{key}=null")  # without it jsonargparse mixes in the keys of the files' mapping
        flags.append(f"--{key}={value if isinstance(value, str) else json.dumps(value)}")
    return flags
