"""The command ``report``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED

FUNCTION = "report"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs", "runs own/videos/runs -o report.html")
    derive(parser, FUNCTION)


def run(arguments: Namespace) -> int:
    """Write the page.

    Exit status 1: a folder or a run could not be read.
    """
    report = lit_video.report(**call_arguments(arguments, FUNCTION))
    return FAILED if report.left_out else DONE
