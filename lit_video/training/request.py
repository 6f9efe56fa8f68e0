"""Request to ``fit``: a table, its rows, seeds and settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table


@dataclass(frozen=True)
class Request:
    """A table, its rows and seeds, the runs folder, and all other flags as they were given.

    With ``reuse`` a row takes what a finished run of whatever table has in common with it: its result, or its weights.
    """

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    runs: Path
    flags: list[str]
    single: bool
    recipe: str | None = None
    reuse: bool = False

    def run_args(self, row: Row, seed: int) -> list[str]:
        """The arguments of ``fit`` that start one run."""
        files = [arg for path in self.configs for arg in ("--config", str(path))]
        recipe = ["--recipe", self.recipe] if self.recipe else []
        reuse = ["--reuse"] if self.reuse else []
        chosen = [*files, "--row", row.name, "--seeds", str(seed)]
        return [*chosen, *recipe, *reuse, "--runs", str(self.runs), *self.flags]

    def row_args(self, row: Row, seed: int) -> list[str]:
        """Flags of one row for the Lightning command line: files, then the row's settings, then the user's flags.

        The row comes after all files, overlays too: what a table varies must hold at every scale.
        """
        files = [arg for path in self.configs for arg in ("--config", str(path))]
        return [*files, *setting_flags(row.settings), *self.flags, f"--seed_everything={seed}"]

    def names(self, row: Row) -> dict[str, str]:
        """The names of a row's run: table, row, scale."""
        return {"table": self.table.name, "row": row.name, "scale": self.table.scale}

    def place(self, row: Row, key: str) -> str:
        """Where a setting was made, for messages: the user's flag, the row, or the files."""
        short = key.replace(".init_args", "")
        flags = [flag for flag in self.flags if flag.replace(".init_args", "").split("=")[0] == f"--{short}"]
        if key and flags:
            return "command line"
        return f"{', '.join(map(str, self.configs))}: row {row.name}"


def build_request(
    configs: Sequence[Path],
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    runs: Path = Path("runs"),
    recipe: str | None = None,
    flags: Sequence[str] = (),
) -> Request:
    """Read a table.

    Args:
        configs: the table's file, and those of a scale.
        rows: names or numbers of its rows, also several with commas; ``None`` for all.
        seeds: seeds of each row.
        runs: folder of the runs.
        recipe: recipe of the scale; ``None`` for each family's first.
        flags: ``--data.X=Y``, other settings.

    Raises:
        UserError: a file or the table is wrong, or has no such row or recipe.
    """
    table = read_table(list(configs), recipe)
    named = {(row := table.row(name)).name: row for text in rows or () for name in text.split(",")}
    chosen = table.rows if rows is None else list(named.values())
    single = len(chosen) == len(seeds) == 1 and (rows is not None or len(table.rows) == 1)
    return Request(table, list(configs), chosen, list(seeds), runs, list(flags), single, recipe)


def setting_flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings by their names, such as ``model.window``, as flags; a class comes before the settings that it takes."""
    classes_first = sorted(settings.items(), key=lambda setting: "." in setting[0])
    return [f"--{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in classes_first]
