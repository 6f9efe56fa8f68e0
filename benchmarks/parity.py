"""Compare networks, loaded from released names on a device, with the logits of the released code.

    python -m benchmarks.parity [--device cpu|cuda] [-o FILE]

The cases are the vectors in tests/vectors, computed by the authors' own code (X-ViT, TimeSformer, ViViT), and
transformers' models with random weights (on the same device, in float32). Prints the largest difference of the logits
in float32, and under bfloat16 autocast relative to the largest logit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.harness import Measurement, parser, ran
from lit_video.attention import MixingPlan
from lit_video.attention.mixing import Target
from lit_video.network.aggregation import TemporalAttention, TemporalMean
from lit_video.network.embedding import ClipSize
from lit_video.network.positions import Positions, Resizing
from lit_video.network.timesformer import timesformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit as build_xvit
from lit_video.weights.loading import load_pretrained

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"
# names of the authors' configurations, and ours
ATTENTION = {"divided_space_time": "divided", "joint_space_time": "joint", "space_only": "space"}
MODELS = {
    "spacetime": 1,
    "factorized_encoder": 2,
    "factorized_self_attention_block": 3,
    "factorized_dot_product_attention": 4,
}
# Differences relative to the largest logit. On a CPU: below 1e-5 and 2 %.
TOLERANCE = {"fp32_relative": 1e-4, "bf16_relative": 0.05}
TARGETS: dict[str, list[Target]] = {"": [], "x": ["x"], "k": ["key"], "v": ["value"], "k,v": ["key", "value"]}


def cases(device: torch.device) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Yield name, network, clips and the released code's logits."""
    for path in sorted(VECTORS.glob("xvit_*.pt")):
        vector = torch.load(path, weights_only=True)
        yield path.stem, xvit(vector), vector["input"], vector["logits"]
    for path in sorted(VECTORS.glob("fb_timesformer_*.pt")):
        vector = torch.load(path, weights_only=True)
        yield path.stem, authors_timesformer(vector), vector["input"], vector["logits"]
    for path in sorted(VECTORS.glob("scenic_vivit_m*.pt")):
        vector = torch.load(path, weights_only=True)
        yield path.stem, authors_vivit(vector), channels_first(vector["input"]), vector["logits"]
    yield from hugging_face(device)


def authors_timesformer(vector: dict[str, Any], weights: Mapping[str, Tensor] | None = None) -> nn.Module:
    """Return the network of one of TimeSformer's vectors, in the dtype of its weights."""
    config, weights = vector["config"], vector["state_dict"] if weights is None else weights
    size = ViTSize(config["embed_dim"], config["depth"], config["num_heads"], mlp_ratio=config["mlp_ratio"])
    side = config["img_size"]
    clip = ClipSize((side, side), config["patch_size"], config["num_frames"])
    network = timesformer(size, config["num_classes"], clip, attention_type=ATTENTION[config["attention_type"]])
    load_pretrained(network.to(weights["model.cls_token"].dtype), weights)
    return network.eval()


def authors_vivit(vector: dict[str, Any], weights: Mapping[str, Tensor] | None = None) -> nn.Module:
    """Return the network of one of ViViT's vectors, in the dtype of its weights."""
    config, weights = vector["config"], vector["state_dict"] if weights is None else weights
    frames, height, width = vector["input"].shape[1:4]
    width_of_tokens = config["hidden_size"]
    ratio = config["mlp_dim"] / width_of_tokens
    network = vivit(
        ViTSize(width_of_tokens, config["num_layers"], config["num_heads"], mlp_ratio=ratio),
        config["num_classes"],
        ClipSize((height, width), 16, frames, tubelet_size=2),
        variant=MODELS[config["attention_type"]],
        pool={"token": "token", "gap": "mean"}[config["classifier"]],  # type: ignore[arg-type]
        order=config["attention_order"] or "space_time",
        temporal="mean" if config["spatial_only_baseline"] else "encoder",
        temporal_depth=config["temporal_num_layers"],
    )
    load_pretrained(network.to(weights["embedding/bias"].dtype), weights)
    return network.eval()


def channels_first(clip: Tensor) -> Tensor:
    """Return a clip of ViViT's release, ``(b, t, h, w, 3)``, as ``(b, 3, t, h, w)``."""
    return clip.movedim(-1, 1)


def xvit(vector: dict[str, Any], weights: Mapping[str, Tensor] | None = None, **changes: Any) -> nn.Module:
    """Return the network of one of X-ViT's vectors, in the dtype of its weights.

    Args:
        vector: a dictionary with ``config`` and ``state_dict``.
        weights: weights in place of ``state_dict``.
        **changes: changes of ``config``.
    """
    config, weights = vector["config"] | changes, vector["state_dict"] if weights is None else weights
    size = ViTSize(config["embed_dim"], config["depth"], config["num_heads"], mlp_ratio=config["mlp_ratio"])
    side = config["patch_size"] * math.isqrt(weights["base_model.pos_embed"].shape[1] - 1)
    mixed = tuple(TARGETS[config["shift_on"]])
    plan = MixingPlan(
        window=1 if mixed else 0,
        ratio=2 / config["shift_div"],
        mixed=mixed,
        scope="full",
        segment=config["shift_segments"],
    )
    aggregate: nn.Module = TemporalMean(size.embed_dim, config["num_classes"])
    if config["ta_layers"]:
        hidden = config["head_hidden_dim"]
        aggregate = TemporalAttention(
            size.embed_dim, config["num_classes"], config["ta_layers"], num_heads=config["ta_heads"], hidden=hidden
        )
    network = build_xvit(
        size,
        config["num_classes"],
        ClipSize((side, side), config["patch_size"], config["temporal_embed_len"]),
        plan=plan,
        layers=config["shift_layers"],
        aggregate=aggregate,
        positions=Positions(resizing=Resizing(time="repeat")),
    )
    load_pretrained(network.to(next(iter(weights.values())).dtype), weights)
    return network.eval()


def hugging_face(device: torch.device) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Yield the cases of transformers' models: half the width of ViT-B, random weights."""
    import transformers as hf

    shared = {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6, "intermediate_size": 1536}
    size, clip = ViTSize(384, 4, 6), torch.randn(2, 3, 8, 96, 96)
    for attention in ("divided", "joint"):
        config = hf.TimesformerConfig(
            image_size=96, num_frames=8, attention_type=f"{attention}_space_time", num_labels=9, **shared
        )
        network = timesformer(size, 9, ClipSize((96, 96), 16, 8), attention_type=attention)
        yield from live(attention, network, hf.TimesformerForVideoClassification(config), clip, device)
    config = hf.VivitConfig(image_size=96, num_frames=8, tubelet_size=[2, 16, 16], num_labels=9, **shared)
    network = vivit(size, 9, ClipSize((96, 96), 16, 8, tubelet_size=2))
    yield from live("vivit", network, hf.VivitForVideoClassification(config), clip, device)


def live(
    name: str, network: nn.Module, model: nn.Module, clip: Tensor, device: torch.device
) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Yield the case of a model of transformers, run on the device."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.05)
    load_pretrained(network.eval(), model.state_dict())
    with torch.no_grad():
        logits = model.to(device).eval()(clip.to(device).transpose(1, 2)).logits
    yield f"hf {name}", network, clip, logits.cpu()


def compare(network: nn.Module, clip: Tensor, expected: Tensor, device: torch.device) -> dict[str, float]:
    """Return the largest differences of the logits in float32 and bfloat16, relative to the largest logit."""
    network, clip = network.to(device), clip.to(device)
    with torch.no_grad():
        single = network(clip).cpu()
        with torch.autocast(device.type, torch.bfloat16):
            half = network(clip).float().cpu()
    return {
        "fp32_difference": (single - expected).abs().max().item(),
        "fp32_relative": ((single - expected).abs().max() / expected.abs().max()).item(),
        "bf16_relative": ((half - expected).abs().max() / expected.abs().max()).item(),
    }


def main() -> int:
    """Compare, print, and write after every case; return 1 if one is beyond its tolerance."""
    measurement = Measurement("parity", parser("parity", __doc__).parse_args(), "transformers")
    measurement.result["tolerance"] = TOLERANCE
    for name, network, clip, expected in cases(measurement.device):
        row = {"name": name} | compare(network, clip, expected, measurement.device)
        row["within"] = all(row[key] <= most for key, most in TOLERANCE.items())
        measurement.rows.append(row)
        measurement.keep()
        said = "" if row["within"] else "   TOO FAR"
        print(f"{name:40} fp32 {row['fp32_difference']:.1e}   bf16 {row['bf16_relative']:.1%}{said}", flush=True)
    return int(not all(row["within"] for row in measurement.rows))


if __name__ == "__main__":
    ran(main)
