"""The ``reproduce`` command: ``REPRODUCE.md``."""

from argparse import Namespace
from pathlib import Path

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_atomically


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--check")
    text = "folder of packs or runs (default: benchmarks/results)"
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"), metavar="DIR", help=text)
    add_shared(parser, "--experiments")
    add_output(parser, "FILE", default="REPRODUCE.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is not up to date")


def run(arguments: Namespace) -> int:
    """Write REPRODUCE.md from the results: what was reproduced, at which scale."""
    from lit_video.reports.markdown import page

    if not arguments.results.is_dir():
        raise UserError(f"--results {arguments.results}: no such folder")
    text = page(arguments.experiments, arguments.results)
    if arguments.check:
        same = arguments.output.exists() and arguments.output.read_text(encoding="utf-8") == text
        print(f"{arguments.output}: {'up to date' if same else 'out of date; run python -m lit_video reproduce'}")
        return 0 if same else 1
    with writing("--output", arguments.output):
        write_atomically(arguments.output, text)
    print(f"wrote {arguments.output}")
    return 0
