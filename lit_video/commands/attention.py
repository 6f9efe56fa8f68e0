"""The ``attention`` command: what a model attends to, as a picture."""

import sys
from argparse import Namespace

from lit_video.commands.arguments import add_output, add_shared, existing, writing
from lit_video.commands.parser import Parser
from lit_video.utils.files import write_bytes
from lit_video.utils.text import printable


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.png")
    text = "a video, or a folder of pictures with --fps"
    parser.add_argument("video", type=existing("no such file or folder"), metavar="VIDEO", help=text)
    add_shared(parser, "--ckpt", required=True)
    add_shared(parser, "--scheme")
    add_output(parser, "FILE", default="attention.png", endings=[".png"])
    add_shared(parser, "--fps", "--device")


def run(arguments: Namespace) -> int:
    """Draw where a trained model looks in a video.

    Attention rollout from what is classified back to the patches of every frame, in the centre view of the video.
    """
    # here, because importing torch takes seconds
    from lit_video.inference.attention_maps import attention_maps, picture

    maps = attention_maps(arguments.ckpt, arguments.video, arguments.device, arguments.fps)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, picture(maps))
    print(printable("; ".join([f"wrote {arguments.output}", *maps.lines])), file=sys.stderr)
    return 0
