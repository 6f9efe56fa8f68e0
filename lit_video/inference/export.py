"""A trained model as Hugging Face's transformers stores it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from lit_video.errors import OptionError
from lit_video.inference.checkpoints import build_model, read_checkpoint
from lit_video.modules import TimeSformer, VideoClassifier, ViViT
from lit_video.network.vit import SIZES, ViTSize
from lit_video.utils.image_size import height_and_width
from lit_video.weights.hugging_face import export_hf_timesformer, export_hf_vivit
from lit_video.weights.reading import of_our_own


@dataclass(frozen=True)
class Target:
    """A class of transformers: our family, its weights under the class's names, and its configuration."""

    family: type[VideoClassifier]
    weights: Callable[[Any], dict[str, Tensor]]
    config: Callable[[Mapping[str, Any]], dict[str, Any]]
    processor: str


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
    "hf-timesformer": Target(TimeSformer, export_hf_timesformer, _timesformer, "VideoMAEImageProcessor"),
    "hf-vivit": Target(ViViT, export_hf_vivit, _vivit, "VivitImageProcessor"),
}


def exported(ckpt: Path, to: str) -> tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]:
    """Weights, configuration and preprocessor of a trained model, under the names of one of ``TARGETS``.

    Raises:
        UserError: the checkpoint is wrong, or the model has something that the target has not.
    """
    target = TARGETS[to]
    checkpoint = read_checkpoint(ckpt)
    model = build_model(checkpoint, target.family, ckpt)
    stored = of_our_own(checkpoint)
    try:
        if isinstance(model.num_classes, dict):
            raise ValueError("classes of transformers have one head, this model has several")
        weights = target.weights(model.network)
        preprocessor = _preprocessor(target.processor, stored.clips)
    except ValueError as error:
        raise OptionError(f"to {to}", error) from error
    return weights, target.config(model.hparams) | _shared(model.hparams, stored.class_names), preprocessor


def _preprocessor(processor: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Its centre view; of another program's checkpoint nothing is known."""
    if not data:
        return {}
    if (channels := data.get("channels", "rgb")) != "rgb":
        raise ValueError(f"the model sees {channels} pixels, transformers' preprocessors give rgb")
    height, side = height_and_width(data["image_size"])
    if height != side:
        raise ValueError(f"clips of {height} x {side} pixels: transformers' preprocessors crop squares; use --to pt2")
    whole, square = data.get("views") == "whole", {"height": side, "width": side}
    return {
        "image_processor_type": processor,
        "do_resize": True,
        "size": square if whole else {"shortest_edge": side},
        "do_center_crop": not whole,
        "crop_size": square,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "offset": False,
        "do_normalize": True,
        "image_mean": [data["mean"]] * 3,
        "image_std": [data["std"]] * 3,
    }


def _shared(hparams: Mapping[str, Any], names: list[str] | None) -> dict[str, Any]:
    size = hparams["size"] if isinstance(hparams["size"], ViTSize) else SIZES[hparams["size"]]
    labels = names or [f"LABEL_{i}" for i in range(hparams["num_classes"])]
    return {
        "image_size": height_and_width(hparams["image_size"])[0],
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
