"""The ``validate`` command: a model on the centre view of every validation video."""

from argparse import Namespace

from lit_video.commands.evaluate import add_evaluated, evaluate
from lit_video.commands.parser import Parser


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN", "--ckpt ablation_tw/tw1 --order reversed")
    add_evaluated(parser, "validate")


def run(arguments: Namespace) -> int:
    """Evaluate a run, or published weights, on the validation videos: the centre view of each."""
    return evaluate("validate", arguments)
