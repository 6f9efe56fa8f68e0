"""The command ``data check``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, existing
from lit_video.commands.parser import Parser
from lit_video.settings.flags import read_flags
from lit_video.utils.stop_signals import DONE, FAILED


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("ROOT --dataset SomethingV2", "ROOT --dataset VideoFolder --decode -o manifest.sqlite")
    parser.add_argument("--decode", action="store_true", help="decode every frame, not only the first")
    parser.add_argument("root", type=existing("no such folder"), metavar="ROOT", help="folder of the data set")
    parser.add_argument("--dataset", required=True, metavar="NAME", help="class of the data set, such as VideoFolder")
    add_output(parser, "FILE", otherwise="ROOT/manifest.sqlite, a row per video")
    parser.settings = ("--data",)


def run(arguments: Namespace) -> int:
    """Look at every video of every split: what is there, what is missing, what is broken.

    Writes one row per video to a manifest. Exit status 1: something is missing or broken, or equal videos are in two
    splits or classes.
    """
    checked = lit_video.check(
        arguments.root,
        arguments.dataset,
        settings=read_flags(arguments.settings),
        decode=arguments.decode,
        output=arguments.output,
    )
    print(checked)
    return DONE if checked.ok else FAILED
