"""The command ``reproduce``."""

from argparse import Namespace
from pathlib import Path

import lit_video
from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import user_path
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--check")
    text = "folder of packs or runs (default: benchmarks/results)"
    parser.add_argument("--results", type=user_path, default=Path("benchmarks/results"), metavar="DIR", help=text)
    add_shared(parser, "--experiments")
    add_output(parser, "FILE", default="REPRODUCE.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not up to date")


def run(arguments: Namespace) -> int:
    """Write REPRODUCE.md and docs/results: which claims hold, and every table that was run."""
    pages = lit_video.reproduce(
        arguments.results,
        experiments=arguments.experiments,
        output=arguments.output,
        check=arguments.check,
    )
    print(pages)
    return DONE if pages.ok else FAILED
