"""The command ``weights fetch``."""

from argparse import Namespace

import lit_video
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "fetch_weights"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("timesformer-k400", "xvit-b-k600 xvit-b-ssv2")
    parser.add_argument("names", nargs="+", metavar="NAME")


def run(arguments: Namespace) -> int:
    """Print the paths."""
    for name, path in lit_video.fetch_weights(*arguments.names).items():
        print(f"{name}: {path}")
    return DONE
