"""The command ``pack``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("runs -o results", "runs/ablation_tw -o benchmarks/results")
    add_shared(parser, "runs")
    add_output(parser, "DIR", required=True)


def run(arguments: Namespace) -> int:
    """Write finished runs into one file per table, without logits and checkpoints.

    The commands table and report read these files like runs.
    """
    print(lit_video.pack(arguments.runs, output=arguments.output))
    return DONE
