"""The ``reproduce`` command: ``REPRODUCE.md``. Imports no torch."""

from pathlib import Path

from lit_video.commands.parser import Parser, writing
from lit_video.reports.markdown import page
from lit_video.utils.files import write_atomically


def reproduce(argv: list[str]) -> int:
    """Write the page; with ``--check`` only say whether the one that is there is up to date, and return 1 if not."""
    parser = Parser("reproduce", "REPRODUCE.md: what was reproduced at which scale, from result.json files alone.")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--experiments", type=Path, default=Path("experiments"))
    parser.add_argument("-o", "--output", type=Path, default=Path("REPRODUCE.md"))
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is not up to date")
    arguments = parser.parse_args(argv)
    text = page(arguments.experiments, arguments.results)
    if arguments.check:
        same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python -m lit_video reproduce'}")
        return 0 if same else 1
    with writing("--output", arguments.output):
        write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}")
    return 0
