"""The ``test`` command: a model on all views of every test video."""

from argparse import Namespace

from lit_video.commands.evaluate import add_evaluated, evaluate
from lit_video.commands.parser import Parser


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN --order shuffled", "--weights hub:timesformer-k400 --data.root DIR")
    add_evaluated(parser, "test")


def run(arguments: Namespace) -> int:
    """Evaluate a run, or published weights, on the test videos: all views of each."""
    return evaluate("test", arguments)
