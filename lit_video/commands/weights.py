"""The command ``weights``."""

from argparse import Namespace

import lit_video
from lit_video.commands import weights_fetch
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

COMMANDS = {"fetch": weights_fetch}
FUNCTION = "published_weights"


def add_arguments(parser: Parser) -> None:
    """Add examples."""
    parser.examples("", "fetch timesformer-k400")


def run(arguments: Namespace) -> int:
    """Print the list."""
    print(lit_video.published_weights())
    return DONE
