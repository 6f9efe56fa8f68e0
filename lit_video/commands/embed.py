"""The command ``embed``."""

import sys
from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_videos, asked_evaluation
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE, FAILED
from lit_video.utils.text import printable


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("videos --ckpt RUN -o features.png")
    add_videos(parser)
    add_output(parser, "FILE", default="embed.png", endings=[".png", ".svg", ".pdf"])


def run(arguments: Namespace) -> int:
    """Draw the features of videos in the plane by t-SNE, coloured by class.

    The features are the input of the classifier's last layer; a video's class is the name of its folder. Videos that
    the model was trained on are hollow. Exit status 1: a video could not be read.
    """
    embedding = lit_video.embed(arguments.ckpt, arguments.videos, evaluation=asked_evaluation(arguments))
    path = embedding.write(arguments.output)
    for video, reason in embedding.broken.items():
        print(printable(f"{video}: {reason}"), file=sys.stderr)
    print("; ".join(filter(None, [f"wrote {path}", embedding.trained_on])), file=sys.stderr)
    return FAILED if embedding.broken else DONE
