"""The command ``attention``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_shared, existing
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE
from lit_video.utils.text import printable


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.png")
    video = existing("no such file or folder")
    parser.add_argument("video", type=video, metavar="VIDEO", help="or pictures, with --fps")
    add_shared(parser, "--ckpt", "--scheme")
    add_output(parser, "FILE", default="attention.png", endings=[".png"])
    add_shared(parser, "--fps", "--device")


def run(arguments: Namespace) -> int:
    """Draw where a trained model looks in a video.

    Draws the attention rollout from the classifier's input back to the patches of every frame, for the centre view.
    """
    maps = lit_video.attention_maps(arguments.ckpt, arguments.video, arguments.device, fps=arguments.fps)
    path = maps.write(arguments.output)
    print(printable("; ".join([f"wrote {path}", *maps.lines])), file=sys.stderr)
    return DONE
