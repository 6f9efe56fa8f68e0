"""The command ``cost``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import accept_settings, add_shared, asked_rows
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--config experiments/ablation_tw.yaml --json")
    add_shared(parser, "tables", "--config", "--recipe", "--row")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    accept_settings(parser)


def run(arguments: Namespace) -> int:
    """Count parameters and multiply-adds of the papers' models, or of a table's rows."""
    costs = lit_video.cost(**asked_rows(arguments))
    print(costs.json if arguments.json else costs)
    return DONE
