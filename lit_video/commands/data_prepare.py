"""The command ``data prepare``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED

FUNCTION = "prepare"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("SRC DST --preset fast", "SRC DST --short-side 128")
    derive(parser, FUNCTION, src=dict(metavar="SRC"), dst=dict(metavar="DST"))


def run(arguments: Namespace) -> int:
    """Print the table of the videos.

    Videos that cannot be read are listed, and the exit status is 1.
    """
    prepared = lit_video.prepare(**call_arguments(arguments, FUNCTION))
    print(prepared)
    return FAILED if prepared.broken else DONE
