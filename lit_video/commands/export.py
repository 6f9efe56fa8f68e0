"""The command ``export``."""

from argparse import Namespace
from typing import get_args

import lit_video
from lit_video.api.export import ExportKind
from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    text = "transformers, torch.export, ONNX, or weights alone"
    parser.add_argument("--to", choices=get_args(ExportKind), required=True, help=text)
    add_shared(parser, "--ckpt", "--scheme")
    add_output(parser, "DIR", required=True)


def run(arguments: Namespace) -> int:
    """Write a trained model for other programs: a folder with its settings and card."""
    print(lit_video.export(arguments.ckpt, arguments.to, arguments.output))
    return DONE
