"""The ``pack`` command: finished runs into one file per table."""

from pathlib import Path

from lit_video.commands.parser import Parser, writing
from lit_video.tables.packing import pack_runs


def pack(argv: list[str]) -> int:
    """Write the packs, and print a line about each."""
    parser = Parser(
        "pack", "Finished runs in one file per table, which table, report and reproduce read as they do runs."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUNS", help="a runs folder, or one inside it")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder of the packs")
    arguments = parser.parse_args(argv)
    with writing("--output", arguments.output):
        for path, runs in pack_runs(arguments.runs, arguments.output).items():
            print(f"{path}: {runs} runs, {path.stat().st_size / 1e3:.0f} kB")
    return 0
