"""The command ``cost``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "cost"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--config experiments/ablation_tw.yaml --json")
    derive(parser, FUNCTION)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def run(arguments: Namespace) -> int:
    """Print the counts."""
    costs = lit_video.cost(**call_arguments(arguments, FUNCTION))
    print(costs.json if arguments.json else costs)
    return DONE
