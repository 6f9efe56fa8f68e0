"""The ``export`` command: a trained model for other programs."""

from argparse import Namespace

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.parser import Parser
from lit_video.runs.checkpoint import settings_of
from lit_video.runs.files import has_result
from lit_video.utils.files import write_atomically


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    kinds = ["hf-timesformer", "hf-vivit", "pt2", "onnx", "safetensors"]
    text = "transformers, torch.export, ONNX, or weights alone"
    parser.add_argument("--to", choices=kinds, required=True, help=text)
    add_shared(parser, "--ckpt", required=True)
    add_shared(parser, "--scheme")
    add_output(parser, "DIR", required=True)


def run(arguments: Namespace) -> int:
    """Write a trained model for other programs: a folder with its settings and card."""
    from lit_video.inference.export import export  # here, because importing torch takes seconds
    from lit_video.reports.card import model_card

    output, run = arguments.output, settings_of(arguments.ckpt).parent
    with writing("--output", output):
        said, how_to_load = export(arguments.ckpt, arguments.to, output)
        print(f"wrote {said}")
        card = [model_card(run)] if has_result(run) else []
        write_atomically(output / "README.md", "\n".join([*card, how_to_load]))
        print(f"wrote {output / 'README.md'}{', the model card' if card else ''}: how to load it")
    return 0
