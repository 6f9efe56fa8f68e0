"""The command ``data floors``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "floors"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("skills", "--config experiments/skills.yaml --config experiments/scale/twelve.yaml")
    derive(parser, FUNCTION)


def run(arguments: Namespace) -> int:
    """Print the floors."""
    print(lit_video.floors(**call_arguments(arguments, FUNCTION)))
    return DONE
