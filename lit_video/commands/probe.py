"""The command ``probe``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "probe"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("RUN", "RUN --minutes 5", "torchvision:swin3d_t --random-weights", "features.py:FUNCTION --pairs 8")
    text = (
        "a run, hub:NAME, torchvision:NAME, timm:NAME, a folder of transformers, an exported program, FILE.py:FUNCTION"
    )
    derive(parser, FUNCTION, model=dict(metavar="MODEL", help=text))


def run(arguments: Namespace) -> int:
    """Print the accuracies."""
    probed = lit_video.probe(**call_arguments(arguments, FUNCTION))
    print(probed, flush=True)
    print(f"wrote {probed.picture}", file=sys.stderr)
    return DONE
