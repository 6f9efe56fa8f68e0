"""The ``export`` command: a trained model as a folder that Hugging Face's transformers opens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor

from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.inference.checkpoints import load_model
from lit_video.modules import TimeSformer, VideoClassifier, ViViT
from lit_video.network.pretrained.hugging_face import export_hf_timesformer, export_hf_vivit
from lit_video.network.vit import SIZES, ViTSize


@dataclass(frozen=True)
class Target:
    """A class of transformers: our family, its weights under the class's names, and its configuration."""

    family: type[VideoClassifier]
    weights: Callable[[Any], dict[str, Tensor]]
    config: Callable[[Mapping[str, Any]], dict[str, Any]]


def _timesformer(hparams: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {"divided": "divided_space_time", "joint": "joint_space_time", "space": "space_only"}
    return {
        "architectures": ["TimesformerForVideoClassification"],
        "model_type": "timesformer",
        "num_frames": hparams["frames"],
        "patch_size": hparams["patch"],
        "attention_type": kinds.get(hparams["attention"]),
        "hidden_act": "gelu",
    }


def _vivit(hparams: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["VivitForVideoClassification"],
        "model_type": "vivit",
        "num_frames": hparams["frames"],
        "tubelet_size": [hparams["tubelet"], hparams["patch"], hparams["patch"]],
        "hidden_act": "gelu_fast",
    }


TARGETS = {
    "hf-timesformer": Target(TimeSformer, export_hf_timesformer, _timesformer),
    "hf-vivit": Target(ViViT, export_hf_vivit, _vivit),
}


def export(argv: list[str]) -> int:
    """Write ``model.safetensors`` and ``config.json``."""
    parser = Parser("export", "A trained model as a folder for transformers' from_pretrained.")
    parser.add_argument("--to", choices=list(TARGETS), required=True)
    parser.add_argument("--ckpt_path", type=Path, required=True, help="a run's last.ckpt")
    parser.add_argument("--output", "-o", type=Path, required=True, help="folder to write")
    known = parser.parse_args(argv)
    target = TARGETS[known.to]
    model = load_model(target.family, known.ckpt_path, "ckpt_path")
    try:
        if isinstance(model.num_classes, dict):
            raise ValueError("classes of transformers have one head, this model has several")
        weights = target.weights(model.network)
    except ValueError as error:
        raise UserError(f"--to {known.to}: {error}") from error
    try:
        known.output.mkdir(parents=True, exist_ok=True)
        save_file(weights, known.output / "model.safetensors", metadata={"format": "pt"})
        config = target.config(model.hparams) | _shared(model.hparams)
        (known.output / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"--output {known.output}: {error.strerror}") from error
    print(f"wrote {known.output}: {config['architectures'][0]}.from_pretrained({str(known.output)!r}) opens it")
    return 0


def _shared(hparams: Mapping[str, Any]) -> dict[str, Any]:
    size = hparams["size"] if isinstance(hparams["size"], ViTSize) else SIZES[hparams["size"]]
    labels = [f"LABEL_{i}" for i in range(hparams["num_classes"])]
    return {
        "image_size": hparams["image_size"],
        "num_channels": 3,
        "hidden_size": size.width,
        "num_hidden_layers": size.depth,
        "num_attention_heads": size.heads,
        "intermediate_size": round(size.width * size.mlp_ratio),
        "qkv_bias": True,
        "layer_norm_eps": 1e-6,
        "id2label": dict(enumerate(labels)),
        "label2id": {label: i for i, label in enumerate(labels)},
    }
