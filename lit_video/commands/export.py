"""The ``export`` command: a trained model as a folder that Hugging Face's transformers opens."""

import json
from pathlib import Path

from lit_video.commands.parser import Parser, writing


def export(argv: list[str]) -> int:
    """Write ``model.safetensors`` and ``config.json``."""
    parser = Parser("export", "A trained model as a folder for transformers' from_pretrained.")
    parser.add_argument("--to", choices=["hf-timesformer", "hf-vivit"], required=True)
    parser.add_argument("--ckpt_path", type=Path, required=True, help="a run's last.ckpt")
    parser.add_argument("--output", "-o", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args(argv)
    from safetensors.torch import save_file  # here, because importing torch takes seconds

    from lit_video.inference.export import exported

    weights, config = exported(arguments.ckpt_path, arguments.to)
    with writing("--output", arguments.output):
        arguments.output.mkdir(parents=True, exist_ok=True)
        save_file(weights, arguments.output / "model.safetensors", metadata={"format": "pt"})
        (arguments.output / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {arguments.output}: {config['architectures'][0]}.from_pretrained({str(arguments.output)!r}) opens it")
    return 0
