"""The command ``data check``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED

FUNCTION = "check"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ROOT --dataset SomethingV2", "ROOT --dataset VideoFolder --decode -o manifest.sqlite")
    derive(parser, FUNCTION, without=["settings"], root=dict(metavar="ROOT"), dataset=dict(names=("--dataset",)))
    parser.settings = ("--data",)


def run(arguments: Namespace) -> int:
    """Print what is wrong.

    Exit status 1: something is missing or broken, or equal videos are in two splits or classes.
    """
    checked = lit_video.check(**call_arguments(arguments, FUNCTION))
    print(checked)
    return DONE if checked.ok else FAILED
