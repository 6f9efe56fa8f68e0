"""The command ``profile``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED

FUNCTION = "profile"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("my_scheme.py", "my_scheme.py --on videos --seeds 0,1,2", "divided --look")
    text = "FILE.py, FILE.py:CLASS, MODULE.CLASS, or a built-in one"
    derive(
        parser,
        FUNCTION,
        scheme=dict(metavar="SCHEME", help=text),
        train=dict(names=("--look",), action="store_false", help="train nothing"),
    )


def run(arguments: Namespace) -> int:
    """Print the comparison on videos, if there is one.

    Exit status 1: the scheme breaks its contract.
    """
    profile = lit_video.profile(**call_arguments(arguments, FUNCTION))
    if profile.compared:
        print(profile.compared, flush=True)
    return DONE if profile.ok else FAILED
