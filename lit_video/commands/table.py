"""The command ``table``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive, new_file
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "table"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw --pairs", "skills --runs benchmarks/results --plot skills.png")
    derive(parser, FUNCTION)
    parser.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    parser.add_argument("--pairs", action="store_true", help="the differences of all rows, with their intervals")
    picture = new_file("plot", ".png", ".svg")
    parser.add_argument("--plot", type=picture, metavar="FILE", help="direction by skill (or top-1 by group), drawn")


def run(arguments: Namespace) -> int:
    """Print the table."""
    table = lit_video.table(**call_arguments(arguments, FUNCTION))
    print(table.text(arguments.format, arguments.pairs))
    if arguments.plot:
        print(f"wrote {table.plot(arguments.plot)}", file=sys.stderr)
    return DONE
