"""The command ``export``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_own_code, call_arguments, derive
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE

FUNCTION = "export"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    derive(parser, FUNCTION, to=dict(names=("--to",)))
    add_own_code(parser)


def run(arguments: Namespace) -> int:
    """Print what was written."""
    print(lit_video.export(**call_arguments(arguments, FUNCTION)))
    return DONE
