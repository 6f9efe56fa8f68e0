"""The command ``data floors``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import accept_settings, add_shared, asked_rows
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("skills", "--config experiments/skills.yaml --config experiments/scale/twelve.yaml")
    add_shared(parser, "tables", "--config", "--recipe", "--row")
    accept_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what can be told of a table's temporal skills with little or no comparison of frames.

    Blind: models that see a set of frames. One frame, two frames: the best guess from one frame, or two neighbouring
    ones, at a known time. Sum: a bound of any sum over frames at known times, unknown where states are continuous or
    turns long. Events within reach: how many films show both events at most so many frames apart.
    """
    print(lit_video.floors(**asked_rows(arguments)))
    return DONE
