"""The command ``pack``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "pack"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs -o results", "runs/ablation_tw -o benchmarks/results")
    derive(parser, FUNCTION)


def run(arguments: Namespace) -> int:
    """Print the files that were written."""
    print(lit_video.pack(**call_arguments(arguments, FUNCTION)))
    return DONE
