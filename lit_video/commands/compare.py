"""The command ``compare``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "compare"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --schemes xvit,divided,joint", "videos --schemes space,xvit --seeds 0,1,2,3,4 --minutes 5")
    derive(
        parser,
        FUNCTION,
        videos=dict(metavar="DIR|TABLE"),
        schemes=dict(names=("--schemes",), metavar="A,B", help="with commas: xvit,divided,joint,vivit2, ..."),
        weights=dict(metavar="auto|none|timm:NAME"),
        group=dict(metavar="COLUMN|none"),
        split=dict(metavar="COLUMN|none"),
    )


def run(arguments: Namespace) -> int:
    """Print the comparison."""
    print(lit_video.compare(**call_arguments(arguments, FUNCTION)), flush=True)
    return DONE
