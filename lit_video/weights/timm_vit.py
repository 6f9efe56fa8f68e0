"""Structure of timm's Vision Transformers as a size of these networks, or the reason why they have none."""

import re
from dataclasses import asdict
from typing import Any

import timm
import torch
from torch import nn

from lit_video.network.block import Gelu
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SIZES, ViTSize

# the classifier, MAE's decoder and the token that DINOv2 masks with: no part of the features
HEADS = ("head", "attn_pool", "pre_logits", "fc_norm", "decoder_", "mask_token")
_GELUS: dict[str, Gelu] = {"GELU": "none", "GELUTanh": "tanh", "QuickGELU": "quick"}
# classes of the parts that these networks compute too, or that a fold takes over, by the pattern of their names
_KINDS = {
    "": ("VisionTransformer", "VisionTransformerDistilled"),
    "patch_embed": ("PatchEmbed",),
    r"patch_embed\.proj": ("Conv2d",),
    "blocks": ("Sequential",),
    r"blocks\.\d+": ("Block",),
    r"blocks\.\d+\.attn": ("Attention",),
    r"blocks\.\d+\.(attn\.(qkv|proj)|mlp\.fc[12])": ("Linear",),
    r"blocks\.\d+\.ls[12]": ("LayerScale",),
    r"blocks\.\d+\.mlp": ("Mlp",),
    r"blocks\.\d+\.mlp\.act": (*_GELUS,),
}
_NORMS = r"norm|norm_pre|fc_norm|blocks\.\d+\.norm[12]"
_INERT = ("Identity", "Dropout", "DropPath", "PatchDropout")  # outside of training
_WHY = {
    "rope": "its positions turn queries and keys (RoPE); these networks add theirs to the tokens",
    "rel_pos_bias": "its attention adds biases by relative positions, which these networks do not have",
    "shared_rel_pos": "its attention adds biases by relative positions, which these networks do not have",
}


def on_meta(name: str) -> Any:
    """A model of timm without memory, so that nothing is downloaded.

    Raises:
        ValueError: timm has no such model.
    """
    if not timm.is_model(name):
        raise ValueError(f"timm {timm.__version__} has no model of this name")
    with torch.device("meta"):
        return timm.create_model(name)


def structure(vit: Any) -> ViTSize:
    """The size of these networks whose blocks compute what a model of timm computes.

    Every part of the model is looked at: what is not known to be the same, or to be folded exactly, is refused.

    Raises:
        ValueError: the first part that these networks do not have.
    """
    for name, why in _WHY.items():
        if getattr(vit, name, None) is not None or (name == "rel_pos_bias" and hasattr(vit, name)):
            raise ValueError(why)
    if type(vit).__name__ not in _KINDS[""]:
        raise ValueError(f"timm's {type(vit).__name__} of this name is no plain ViT, which these networks are")
    parts = {name: part for name, part in vit.named_modules() if not name.startswith(HEADS)}
    for name, part in parts.items():
        if not _known(name, part):
            raise ValueError(f"its {name} is {type(part).__name__}, which these networks do not have")
    epsilons = {part.eps for name, part in vit.named_modules() if re.fullmatch(_NORMS, name) and hasattr(part, "eps")}
    if len(epsilons) > 1:
        raise ValueError(f"its layer norms have the epsilons {epsilons}, these networks have one")
    first = vit.blocks[0]
    registers = 1 if hasattr(vit, "dist_token") else vit.num_reg_tokens
    if registers and not vit.has_class_token:
        raise ValueError("it has register tokens without a class token, which these networks do not have")
    return ViTSize(
        vit.embed_dim,
        len(vit.blocks),
        first.attn.num_heads,
        first.mlp.fc1.out_features / vit.embed_dim,
        epsilons.pop(),
        _GELUS[type(first.mlp.act).__name__],
        "norm_pre.weight" in vit.state_dict(),
        registers,
    )


def _known(name: str, part: nn.Module) -> bool:
    """Whether a part of a model computes nothing, or what these networks compute."""
    kind = type(part).__name__
    if kind in _INERT or (re.fullmatch(_NORMS, name) and isinstance(part, nn.LayerNorm)):
        return True
    return any(re.fullmatch(pattern, name) and kind in kinds for pattern, kinds in _KINDS.items())


def refuse_other_structure(vit: Any, network: VideoTransformer) -> None:
    """Refuse a model of timm for a network that computes something else, with the flags that correct it.

    The GELU and its approximation by tanh count as one: they differ by less than 5e-4, and timm itself takes one for
    the other in weights that were trained in JAX.

    Raises:
        ValueError: size, heads, epsilons, activation, registers or a norm before the blocks differ, or the patches.
    """
    size, patch = structure(vit), vit.patch_embed.patch_size[0]
    theirs, ours = (
        {**_plain(each), "patch": p} for each, p in ((size, patch), (network.size, network.embed.patches.patch))
    )
    if other := [f"{name} {value:g} (here {ours[name]:g})" for name, value in theirs.items() if value != ours[name]]:
        raise ValueError(f"it is another ViT, {', '.join(other)}: set --model.size {spec(size)} --model.patch {patch}")


def _plain(size: ViTSize) -> dict[str, float]:
    """What decides whether two sizes compute the same, in numbers."""
    return {
        **{name: getattr(size, name) for name in ("width", "depth", "heads")},
        "mlp_ratio": round(size.width * size.mlp_ratio) / size.width,
        "eps": size.eps or 1e-6,
        "quick GELU": size.gelu == "quick",
        "norm_pre": bool(size.norm_pre),
        "registers": size.registers or 0,
    }


def spec(size: ViTSize) -> str:
    """A size as the value of a flag: its name, or what differs from the defaults."""
    name = next((name for name, one in SIZES.items() if _plain(one) == _plain(size)), None)
    default = {"eps": 1e-6, "gelu": "none", "norm_pre": False, "registers": 0, "mlp_ratio": 4.0}
    given = {key: value for key, value in asdict(size).items() if value != default.get(key)}
    return name or "'{" + ", ".join(f"{key}: {str(value).lower()}" for key, value in given.items()) + "}'"
