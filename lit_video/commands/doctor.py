"""The command ``doctor``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED

FUNCTION = "doctor"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--runs DIR")
    derive(parser, FUNCTION, runs=dict(names=("--runs",)))


def run(arguments: Namespace) -> int:
    """Print the findings.

    Exit status 1: there is a problem.
    """
    diagnosis = lit_video.doctor(**call_arguments(arguments, FUNCTION))
    print(diagnosis)
    return FAILED if diagnosis.problems else DONE
