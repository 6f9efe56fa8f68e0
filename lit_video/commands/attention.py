"""The command ``attention``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_own_code, call_arguments, derive, existing, new_file, refuse_bad_inputs
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE
from lit_video.utils.text import printable

FUNCTION = "attention_maps"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.png")
    derive(parser, FUNCTION, video=dict(type=existing("no such file or folder"), metavar="VIDEO"))
    add_own_code(parser)
    text = "picture to write, .png (default: attention.png)"
    parser.add_argument("--output", "-o", type=new_file("output", ".png"), default="attention.png", help=text)


def run(arguments: Namespace) -> int:
    """Write the picture."""
    refuse_bad_inputs([arguments.video], arguments)
    maps = lit_video.attention_maps(**call_arguments(arguments, FUNCTION))
    path = maps.write(arguments.output)
    print(printable("; ".join([f"wrote {path}", *maps.lines])), file=sys.stderr)
    return DONE
