"""The command ``doctor``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def run(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    diagnosis = lit_video.doctor(arguments.runs)
    print(diagnosis)
    return FAILED if diagnosis.problems else DONE
