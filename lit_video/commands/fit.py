"""The ``fit`` and ``table`` commands: every row and seed of a table its own process. Imports no torch by itself."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lit_video.errors import UserError
from lit_video.tables.reading import read_table
from lit_video.tables.rendering import render, summary
from lit_video.tables.table import Row, Table, read_result


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


class Parser(argparse.ArgumentParser):
    """argparse, with mistakes as :class:`UserError`."""

    def __init__(self, command: str, description: str = "", add_help: bool = True) -> None:
        name = f"python -m lit_video {command}"
        super().__init__(prog=name, description=description, add_help=add_help, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise UserError(f"{message} (see python -m lit_video --help)")


def _parser(command: str) -> Parser:
    parser = Parser(command, add_help=False)
    parser.add_argument("--config", "-c", action="append", type=Path, required=True)
    parser.add_argument("--recipe")
    parser.add_argument("--seeds")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    return parser


def fit(argv: list[str]) -> int:
    """Run one row in this process, or all rows and seeds asked for in a process each."""
    if {"-h", "--help"} & set(argv) or any(arg.endswith(".help") or arg.startswith("--print_config") for arg in argv):
        from lit_video.training.cli import show

        return show(["fit", *_without(argv, {"--row", "--recipe", "--seeds", "--runs"})])
    request = parse_request(argv)
    if request.single:
        from lit_video.training.run import run_row

        return run_row(request, request.rows[0], request.seeds[0])
    return run_table(request, argv)


def parse_request(argv: list[str]) -> Request:
    """Read the flags of ``fit`` and the table.

    Raises:
        UserError: a flag, a file or the table is wrong.
    """
    parser = _parser("fit")
    parser.add_argument("--row")
    parser.add_argument("--seed_everything", type=int)
    known, flags = parser.parse_known_args(argv)
    table = read_table(known.config, known.recipe)
    rows = [table.row(known.row)] if known.row is not None else table.rows
    seeds = _seeds(known.seeds) or [known.seed_everything or 0]
    single = len(rows) == len(seeds) == 1 and (known.row is not None or len(table.rows) == 1)
    return Request(table, known.config, rows, seeds, known.runs, flags, single)


def run_table(request: Request, argv: list[str]) -> int:
    """Check all rows, run those that are not finished, print the table; 1 if a row failed."""
    from lit_video.training.run import check_rows

    check_rows(request)
    failed = []
    base = [sys.executable, "-m", "lit_video", "fit", *_without(argv, {"--row", "--seeds", "--seed_everything"})]
    for seed in request.seeds:
        for row in request.rows:
            name = f"{request.table.name} {row.name} seed {seed}"
            if read_result(request.table.run_dir(request.runs, row, seed)):
                print(f"{name}: finished, skipped", flush=True)
                continue
            print(f"{name}: starting", flush=True)
            if _wait([*base, "--row", row.name, "--seeds", str(seed)]):
                failed.append(name)
    print(render(summary(request.table, request.runs, request.seeds), "text"))
    print(f"runs: {request.runs / request.table.name / request.table.scale}")
    for name in failed:
        print(f"{name}: FAILED, see its messages above; the same command again resumes it", file=sys.stderr)
    return 1 if failed else 0


def print_table(argv: list[str]) -> int:
    """Print a table from the results that there are."""
    parser = _parser("table")
    parser.add_argument("--format", choices=["text", "json", "markdown", "latex"], default="text")
    parser.add_argument("--pairs", action="store_true")
    if {"-h", "--help"} & set(argv):
        print("usage: python -m lit_video table --config TABLE.yaml [--config SCALE.yaml] [--recipe NAME] [--runs DIR]")
        print("                                 [--seeds 0,1,2] [--format text|json|markdown|latex] [--pairs]")
        return 0
    known = parser.parse_args(argv)
    found = summary(read_table(known.config, known.recipe), known.runs, _seeds(known.seeds))
    print(render(found, known.format, known.pairs))
    return 0


def _wait(command: list[str]) -> int:
    """Run a row's process; Ctrl-C reaches it too, and ends the table once it has stopped."""
    process = subprocess.Popen(command)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise UserError("interrupted; the same command again goes on from here") from None


def _seeds(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return list(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UserError(f"--seeds {text}: expected numbers with commas, such as 0,1,2") from None


def _flag_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _without(argv: list[str], names: set[str]) -> list[str]:
    """The arguments without these flags, whether given as ``--x=1`` or as ``--x 1``."""
    kept, skip = [], False
    for arg in argv:
        if skip or arg.split("=")[0] in names:
            skip = not skip and "=" not in arg
            continue
        kept.append(arg)
    return kept
