"""The command ``compare``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_own_videos, add_shared, asked_own_videos
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --schemes xvit,divided,joint", "videos --schemes space,xvit --seeds 0,1,2,3,4 --minutes 5")
    add_own_videos(parser)
    parser.add_argument("--schemes", required=True, metavar="A,B", help="xvit,divided,joint,vivit2, ...")
    text = "image model that all schemes start from (default: a small one of ImageNet-21k), or none: from scratch"
    parser.add_argument("--weights", metavar="auto|none|timm:NAME", help=text)
    add_shared(parser, "--seeds", default="0,1,2")


def run(arguments: Namespace) -> int:
    """Compare attention schemes on a folder of your own videos.

    Trains each scheme once per seed, prints the accuracies and the differences of all pairs with their intervals, and
    writes a page of the results. Repeating the command resumes it.
    """
    compared = lit_video.compare(
        **asked_own_videos(arguments),
        schemes=arguments.schemes,
        seeds=arguments.seeds,
    )
    print(compared, flush=True)
    return DONE
