"""The command ``export``."""

from argparse import Namespace

import lit_video
from lit_video.commands.arguments import add_output, add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.stop_signals import DONE


def add_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    kinds = ["hf-timesformer", "hf-vivit", "pt2", "onnx", "safetensors"]
    parser.add_argument("--to", choices=kinds, required=True, help="transformers, torch.export, ONNX, or weights alone")
    add_shared(parser, "--ckpt", "--scheme")
    add_output(parser, "DIR", required=True)


def run(arguments: Namespace) -> int:
    """Write a trained model for other programs: a folder with its settings and card."""
    print(lit_video.export(arguments.ckpt, arguments.to, arguments.output))
    return DONE
