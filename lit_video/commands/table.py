"""The command ``table``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_shared, existing, new_file
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ablation_tw --pairs", "skills --runs benchmarks/results --plot skills.png")
    add_shared(parser, "tables", "--config", "--recipe")
    add_shared(parser, "--runs", type=existing("no such folder"), default=None)
    add_shared(parser, "--seeds", default=None, help="seeds of each row (default: all that were run)")
    parser.add_argument("--format", choices=["text", "json", "markdown"], default="text", help="default: text")
    parser.add_argument("--pairs", action="store_true", help="the differences of all rows, with their intervals")
    add_shared(parser, "--overridden")
    picture = new_file("--plot", ".png", ".svg")
    parser.add_argument("--plot", type=picture, metavar="FILE", help="direction by skill (or top-1 by group), drawn")


def run(arguments: Namespace) -> int:
    """Print a table as it stands, beside the paper's numbers."""
    table = lit_video.table(
        arguments.tables,
        arguments.config,
        runs=arguments.runs,
        seeds=arguments.seeds,
        recipe=arguments.recipe,
        overridden=arguments.overridden,
    )
    print(table.text(arguments.format, arguments.pairs))
    if arguments.plot:
        print(f"wrote {table.plot(arguments.plot)}", file=sys.stderr)
    return DONE
