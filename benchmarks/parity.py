"""Parity on a device: networks loaded from released names against the logits of the released code.

    python benchmarks/parity.py [--device cpu|cuda] [--json FILE]

Vectors of tests/vectors, those of ../shared/parity where it is, and transformers' models with random weights (on the
same device, in float32). Prints the largest difference of logits in float32 (TF32 off), and under bfloat16 autocast as
a share of the logits' largest value.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.network import pretrained
from lit_video.utils.environment import commit, device_name, versions

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"": [], "x": ["x"], "k": ["key"], "v": ["value"], "k,v": ["key", "value"]}
SCENIC = {
    "m1_token": {"model": 1},
    "m2_token": {"model": 2},
    "m3_space_time": {"model": 3, "order": "space_time"},
    "m4": {"model": 4},
}


def cases(device: torch.device) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Name, network, clips and the released code's logits."""
    for path in sorted((ROOT / "tests" / "vectors").glob("xvit_*.pt")):
        vector = torch.load(path, weights_only=True)
        yield path.stem, xvit(vector), vector["input"], vector["logits"]
    for name, options in SCENIC.items():
        path = ROOT.parent / "shared" / "parity" / f"scenic_vivit_{name}.pt"
        if path.is_file():
            vector = torch.load(path, weights_only=True)
            height, width = vector["input"].shape[2:4]
            network = pretrained.load(
                "scenic-vivit", vector["state_dict"], heads=4, image_size=(height, width), **options
            )
            yield path.stem, network, vector["input"].permute(0, 4, 1, 2, 3), vector["logits"]
    yield from hugging_face(device)


def xvit(vector: dict[str, Any]) -> nn.Module:
    """The network of one of X-ViT's vectors."""
    config = vector["config"]
    return pretrained.load(
        "xvit",
        vector["state_dict"],
        heads=config["num_heads"],
        image_size=config["image_size"],
        ratio=2 / config["shift_div"],
        segments=config["shift_segments"],
        layers=config["shift_layers"],
        mixed=TARGETS[config["shift_on"]],
        ta_heads=config["ta_heads"],
    )


def hugging_face(device: torch.device) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Transformers' models at half the width of ViT-B, random weights."""
    import transformers as hf

    shared = {"hidden_size": 384, "num_hidden_layers": 4, "num_attention_heads": 6, "intermediate_size": 1536}
    clip = torch.randn(2, 3, 8, 96, 96)
    for attention in ("divided_space_time", "joint_space_time"):
        config = hf.TimesformerConfig(image_size=96, num_frames=8, attention_type=attention, num_labels=9, **shared)
        yield from live("hf-timesformer", attention, hf.TimesformerForVideoClassification(config), clip, device)
    config = hf.VivitConfig(image_size=96, num_frames=8, tubelet_size=[2, 16, 16], num_labels=9, **shared)
    yield from live("hf-vivit", "vivit", hf.VivitForVideoClassification(config), clip, device)


def live(
    source: str, name: str, model: nn.Module, clip: Tensor, device: torch.device
) -> Iterator[tuple[str, nn.Module, Tensor, Tensor]]:
    """Run transformers' model on the device."""
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.05)
    network = pretrained.load(source, model.state_dict(), heads=6, image_size=96)
    with torch.no_grad():
        logits = model.to(device).eval()(clip.to(device).transpose(1, 2)).logits
    yield f"{source} {name}", network, clip, logits.cpu()


def main() -> None:
    """Compare, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path)
    known = parser.parse_args()
    device = torch.device(known.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    rows = []
    for name, network, clip, expected in cases(device):
        network, clip = network.to(device), clip.to(device)
        with torch.no_grad():
            single = network(clip).cpu()
            with torch.autocast(device.type, torch.bfloat16):
                half = network(clip).float().cpu()
        row = {
            "case": name,
            "fp32_difference": (single - expected).abs().max().item(),
            "bf16_relative": ((half - expected).abs().max() / expected.abs().max()).item(),
        }
        rows.append(row)
        print(f"{name:40} fp32 {row['fp32_difference']:.1e}   bf16 {row['bf16_relative']:.1%}")
    if known.json:
        command = f"python benchmarks/parity.py --device {device.type}"
        facts = {"command": command, "commit": commit(), "device": device_name(), "versions": versions()}
        known.json.write_text(json.dumps(facts | {"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
