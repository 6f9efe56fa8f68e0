"""The command ``finetune``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "finetune"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos", "videos --weights xvit-b-k600 --minutes 60")
    derive(
        parser,
        FUNCTION,
        videos=dict(metavar="DIR|TABLE"),
        weights=dict(metavar="auto|none|NAME|RUN"),
        group=dict(metavar="COLUMN|none"),
        split=dict(metavar="COLUMN|none"),
    )


def run(arguments: Namespace) -> int:
    """Print how well the model does."""
    print(lit_video.finetune(**call_arguments(arguments, FUNCTION)), flush=True)
    return DONE
