"""The ``export`` command: a trained model for other programs."""

import json
from argparse import Namespace
from pathlib import Path

from lit_video.commands.arguments import add_output, add_shared, writing
from lit_video.commands.checkpoint import settings_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.tables.run_files import has_result
from lit_video.utils.files import write_atomically


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--to onnx --ckpt RUN -o DIR", "--to hf-timesformer --ckpt RUN -o DIR")
    kinds = ["hf-timesformer", "hf-vivit", "pt2", "onnx", "safetensors"]
    text = "transformers, torch.export, ONNX, or weights alone"
    parser.add_argument("--to", choices=kinds, required=True, help=text)
    add_shared(parser, "--ckpt", required=True)
    add_output(parser, "DIR", required=True)
    parser.add_argument("--any_frames", action="store_true", help="for clips of any length too (pt2, onnx)")


def run(arguments: Namespace) -> int:
    """Write a trained model for other programs: a folder with its settings and card."""
    from lit_video.reports.card import model_card

    status = _export(arguments)
    run = settings_of(arguments.ckpt).parent
    if status == 0 and has_result(run):
        with writing("--output", arguments.output):
            write_atomically(arguments.output / "README.md", model_card(run))
        print(f"wrote {arguments.output / 'README.md'}, the model card")
    return status


def _export(arguments: Namespace) -> int:
    if arguments.to.startswith("hf-"):
        if arguments.any_frames:
            raise UserError("--any_frames: is for pt2 and onnx; transformers' models have one length")
        return _for_transformers(arguments.ckpt, arguments.to, arguments.output)
    from lit_video.inference.export import write_program  # here, because importing torch takes seconds

    with writing("--output", arguments.output):
        arguments.output.mkdir(parents=True, exist_ok=True)
        path, difference = write_program(arguments.ckpt, arguments.to, arguments.output, arguments.any_frames)
    tried = (
        "not tried: onnxruntime is not installed" if difference is None else f"its logits differ by {difference:.0e}"
    )
    sizes = "batches and clips" if arguments.any_frames else "batches"
    print(f"wrote {path} for {sizes} of any size, and settings.json; {tried}")
    return 0


def _for_transformers(ckpt: Path, to: str, output: Path) -> int:
    from safetensors.torch import save_file

    from lit_video.inference.export import exported

    weights, config, preprocessor = exported(ckpt, to)
    with writing("--output", output):
        output.mkdir(parents=True, exist_ok=True)
        save_file(weights, output / "model.safetensors", metadata={"format": "pt"})
        for name, content in (("config.json", config), ("preprocessor_config.json", preprocessor)):
            if content:
                (output / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {output}: {config['architectures'][0]}.from_pretrained({str(output)!r}) opens it")
    return 0
