"""Write docs/image_weights.md: image ViTs of timm by name, and which network takes them, tried on the meta device.

python docs/scripts/image_weights_page.py [--check]
"""

import re
import sys
from dataclasses import replace
from pathlib import Path

import timm
from written_page import write_or_compare

from lit_video.network.embedding import ClipSize
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.network.vivit import vivit
from lit_video.network.xvit import xvit
from lit_video.utils.text import markdown_lines
from lit_video.weights.image_vit import load_image_vit, on_meta, read_image_vit, spec, structure

PAGE = Path(__file__).parents[1] / "image_weights.md"
NAMES = [
    "vit_tiny_patch16_224.augreg_in21k",
    "vit_small_patch16_224.augreg_in21k",
    "vit_base_patch16_224.augreg_in21k",
    "vit_large_patch16_224.augreg_in21k",
    "vit_base_patch16_224.augreg_in1k",
    "vit_base_patch16_224.orig_in21k",
    "vit_base_patch32_224.augreg_in21k",
    "vit_base_patch16_224.mae",
    "vit_huge_patch14_224.mae",
    "vit_small_patch16_224.dino",
    "vit_base_patch16_224.dino",
    "vit_small_patch14_dinov2.lvd142m",
    "vit_base_patch14_dinov2.lvd142m",
    "vit_large_patch14_dinov2.lvd142m",
    "vit_giant_patch14_dinov2.lvd142m",
    "vit_small_patch14_reg4_dinov2.lvd142m",
    "vit_base_patch14_reg4_dinov2.lvd142m",
    "vit_large_patch14_reg4_dinov2.lvd142m",
    "vit_base_patch16_dinov3.lvd1689m",
    "vit_base_patch16_clip_224.openai",
    "vit_base_patch16_clip_quickgelu_224.openai",
    "vit_large_patch14_clip_quickgelu_224.openai",
    "vit_base_patch16_clip_224.laion2b",
    "vit_large_patch14_clip_224.laion2b",
    "vit_huge_patch14_clip_quickgelu_224.dfn5b",
    "vit_base_patch16_siglip_224.webli",
    "vit_so400m_patch14_siglip_224.webli",
    "vit_base_patch16_siglip_224.v2_webli",
    "vit_base_patch16_siglip_gap_224.webli",
    "eva02_base_patch14_224.mim_in22k",
    "eva_large_patch14_196.in22k_ft_in22k_in1k",
    "deit_small_patch16_224.fb_in1k",
    "deit_base_patch16_224.fb_in1k",
    "deit_base_distilled_patch16_224.fb_in1k",
    "deit3_base_patch16_224.fb_in22k_ft_in1k",
    "beit_base_patch16_224.in22k_ft_in22k",
    "beitv2_base_patch16_224.in1k_ft_in22k",
    "flexivit_base.1200ep_in1k",
    "vit_medium_patch16_gap_240.sw_in12k",
    "vit_medium_patch16_reg4_gap_256.sbb_in12k",
    "aimv2_large_patch14_224.apple_pt",
    "vit_pe_core_base_patch16_224.fb",
    "samvit_base_patch16.sa1b",
    "vit_relpos_base_patch16_224.sw_in1k",
]
INTRODUCTION = """\
# Image models of timm

For anyone who starts from an image model of timm.

`python docs/scripts/image_weights_page.py` writes this page, and a test checks it: each model is built on the meta
device, without its weights, and given to the networks. `--model.image_weights timm:NAME` takes a model if the settings
are those of its row; if not, an error names them. Every other name of timm follows the same rule
([weights.md](weights.md)): a model with a part that is neither known to be the same nor folded exactly is refused.

- "class token": X-ViT, TimeSformer and ViViT with a class token. "mean": ViViT with `--model.pool mean`.
- LayerScale, absent biases, positions of register tokens and the pixels' mean and deviation are folded exactly.
- Features equal those of timm's `forward_features` to 1e-10 in float64 (random weights). GELU and its approximation by
  tanh count as equal.
- Positions by RoPE (DINOv3, EVA-02, PE) are refused. RoPE rotates queries and keys inside every layer, so each
  attention scheme would need its own rule for time and for the channels that mixing moves between frames.
"""


def networks(size: ViTSize, patch_size: int) -> dict[str, VideoTransformer]:
    """Networks of a structure by how they read their features; one layer stands for all."""
    clip, one = ClipSize((4 * patch_size, 4 * patch_size), patch_size, 1), replace(size, depth=1)
    found = {"class token": xvit(one, 5, clip)}
    if not size.registers:
        found["mean"] = vivit(one, 5, clip, pool="mean")
    for network in found.values():
        network.to("meta").size = size
    return found


def line(name: str) -> list[str]:
    """Line of a model: how it is read, its settings and its pixels; or the reason why it is not taken."""
    vit, why = on_meta(name), ""
    try:
        size, patch = structure(vit), vit.patch_embed.patch_size[0]
    except ValueError as error:
        return [f"`{name}`", "no", "", "", "", str(error)]
    for how, network in networks(size, patch).items():
        try:
            stored = read_image_vit(f"timm:{name}", network)
            layer = {key: value for key, value in stored.tensors.items() if not re.match(r"blocks\.[^0]", key)}
            load_image_vit(network, layer)
        except ValueError as error:
            why = why or str(error)
        else:
            mean = "/".join(f"{x:.3g}" for x in dict.fromkeys(stored.preprocessor["image_mean"]))
            return [f"`{name}`", how, f"`{spec(size)}`", str(patch), mean, ""]
    return [f"`{name}`", "no", "", "", "", why]


def page() -> str:
    """Return the page's text."""
    header = ["timm:", "read by", "--model.size", "--model.patch_size", "mean of pixels", "note"]
    rows = [line(name) for name in NAMES]
    taken = sum(row[1] != "no" for row in rows)
    head = f"{INTRODUCTION}\n{taken} of these {len(rows)} names are taken (timm {timm.__version__}).\n\n"
    return head + markdown_lines(header, rows, numbers=False) + "\n"


def main() -> int:
    """Write the page, or with ``--check`` only compare it; 1 where it is out of date."""
    return write_or_compare(PAGE, page(), copied=True)


if __name__ == "__main__":
    sys.exit(main())
