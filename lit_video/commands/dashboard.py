"""The command ``dashboard``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "dashboard"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--entity TEAM experiments/ablation_tw.yaml own/videos/videos_compare.yaml", "--preview")
    derive(parser, FUNCTION)


def run(arguments: Namespace) -> int:
    """Print the addresses, or the panels."""
    print(lit_video.dashboard(**call_arguments(arguments, FUNCTION)), flush=True)
    return DONE
