"""The ``export`` command: a trained model for other programs."""

from argparse import Namespace

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.checkpoint import settings_of
from lit_video.commands.parser import Parser
from lit_video.tables.run_files import has_result
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
    from lit_video.inference.export import write_for_transformers, write_program  # importing torch takes seconds
    from lit_video.reports.card import model_card

    ckpt, to, output, run = arguments.ckpt, arguments.to, arguments.output, settings_of(arguments.ckpt).parent
    with writing("--output", output):
        if to.startswith("hf-"):
            name = write_for_transformers(ckpt, to, output)
            print(f"wrote {output}: {name}.from_pretrained({str(output)!r}) opens it")
        else:
            path, difference = write_program(ckpt, to, output)
            tried = f"its logits differ by {difference:.0e}"
            print(f"wrote {path} for batches of any size, and settings.json; {tried}")
        if has_result(run):
            write_atomically(output / "README.md", model_card(run))
            print(f"wrote {output / 'README.md'}, the model card")
    return 0
