"""What the user of ``fit`` asked for: tables, rows, seeds and settings. Imports no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.table import Row, Table
from lit_video.utils.parser import Parser


@dataclass(frozen=True)
class Request:
    """What the user asked for: a table, its rows and seeds, the runs folder, and all other flags as they came."""

    table: Table
    configs: list[Path]
    rows: list[Row]
    seeds: list[int]
    runs: Path
    flags: list[str]
    single: bool

    def row_args(self, row: Row, seed: int) -> list[str]:
        """Flags of one row for the Lightning command line: files, then the row's settings, then the user's flags.

        The row comes after all files, overlays too: what a table varies must survive a change of scale. A class comes
        before the settings that it takes.
        """
        files = [arg for path in self.configs for arg in ("--config", str(path))]
        classes_first = sorted(row.settings.items(), key=lambda setting: "." in setting[0])
        settings = [f"--{key}={_flag_value(value)}" for key, value in classes_first]
        return [*files, *settings, *self.flags, f"--seed_everything={seed}"]

    def place(self, row: Row, key: str) -> str:
        """Where a setting was made, for messages: the user's flag, the row, or the files."""
        short = key.replace(".init_args", "")
        flags = [flag for flag in self.flags if flag.replace(".init_args", "").split("=")[0] == f"--{short}"]
        if key and flags:
            return "command line"
        return f"{', '.join(map(str, self.configs))}: row {row.name}"


def table_parser(command: str) -> Parser:
    """Arguments that name a table, its seeds and where its runs live."""
    parser = Parser(command, add_help=False)
    parser.add_argument("--config", "-c", action="append", type=Path, required=True)
    parser.add_argument("--recipe")
    parser.add_argument("--seeds")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    return parser


def parse_request(argv: list[str]) -> Request:
    """Read the flags of ``fit`` and the table.

    Raises:
        UserError: a flag, a file or the table is wrong.
    """
    parser = table_parser("fit")
    parser.add_argument("--row")
    parser.add_argument("--seed_everything", type=int)
    known, flags = parser.parse_known_args(argv)
    table = read_table(known.config, known.recipe)
    rows = [table.row(known.row)] if known.row is not None else table.rows
    seeds = seed_list(known.seeds) or [known.seed_everything or 0]
    single = len(rows) == len(seeds) == 1 and (known.row is not None or len(table.rows) == 1)
    return Request(table, known.config, rows, seeds, known.runs, flags, single)


def seed_list(text: str | None) -> list[int] | None:
    """``0,1,2`` as numbers, each once.

    Raises:
        UserError: something else.
    """
    if text is None:
        return None
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UserError(f"--seeds {text}: expected numbers with commas, such as 0,1,2") from None


def _flag_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
