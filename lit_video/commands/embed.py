"""The command ``embed``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.api.embed import ENDINGS
from lit_video.commands.arguments import VIDEO_PATHS, add_own_code, call_arguments, derive, new_file, refuse_bad_inputs
from lit_video.commands.parser import Parser
from lit_video.utils.processes import DONE, FAILED
from lit_video.utils.text import printable

FUNCTION = "embed"


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --ckpt RUN -o features.png")
    derive(parser, FUNCTION, without=["evaluation"], videos=VIDEO_PATHS)
    add_own_code(parser)
    derive(parser, "Evaluation", without=["progress"])
    text = f"picture to write, {', '.join(ENDINGS)} (default: embed.png)"
    parser.add_argument("--output", "-o", type=new_file("output", *ENDINGS), default="embed.png", help=text)


def run(arguments: Namespace) -> int:
    """Write the picture.

    Exit status 1: a video could not be read.
    """
    refuse_bad_inputs(arguments.videos, arguments)
    evaluation = lit_video.Evaluation(**call_arguments(arguments, "Evaluation"), progress=True)
    embedding = lit_video.embed(**call_arguments(arguments, FUNCTION), evaluation=evaluation)
    path = embedding.write(arguments.output)
    for video, reason in embedding.broken.items():
        print(printable(f"{video}: {reason}"), file=sys.stderr)
    print("; ".join(filter(None, [f"wrote {path}", embedding.trained_on])), file=sys.stderr)
    return FAILED if embedding.broken else DONE
