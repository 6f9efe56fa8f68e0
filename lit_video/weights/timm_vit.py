"""Structure of timm's Vision Transformers as a size of these networks, or the reason why they have none."""

import re
from dataclasses import asdict, replace
from typing import Any

import timm
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import nn

from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SIZES, ViTSize

# the classifier, MAE's decoder and the token that DINOv2 masks with: no part of the features
HEADS = ("head", "attn_pool", "pre_logits", "fc_norm", "decoder_", "mask_token")
_GELUS = ("GELU", "GELUTanh", "QuickGELU")
_INERT = ("Identity", "Dropout", "DropPath", "PatchDropout")  # outside of training
_RELATIVE = "its attention adds biases by relative positions, which these networks do not have"
_WHY = {"rope": "its positions turn queries and keys (RoPE); these networks add theirs to the tokens"}
_WHY |= dict.fromkeys(("rel_pos_bias", "shared_rel_pos"), _RELATIVE)


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
    if type(vit).__name__ not in ("VisionTransformer", "VisionTransformerDistilled"):
        raise ValueError(f"timm's {type(vit).__name__} of this name is no plain ViT, which these networks are")
    with torch.device("meta"):
        plain = VisionTransformer(
            img_size=8, patch_size=8, embed_dim=8, depth=1, num_heads=1, init_values=1.0, pre_norm=True
        )
    for name, kind in sorted(_parts(vit) - _parts(plain)):
        raise ValueError(f"its {name} is {kind}, which these networks do not have")
    norms = {name: part for name, part in vit.named_modules() if isinstance(part, nn.LayerNorm) and not _is_head(name)}
    if "norm" not in norms:
        raise ValueError("its last norm is that of a mean over tokens, which image models here do not have")
    if len(epsilons := {part.eps for part in norms.values()}) > 1:
        raise ValueError(f"its layer norms have the epsilons {epsilons}, these networks have one")
    mlp, registers = vit.blocks[0].mlp, vit.num_reg_tokens + hasattr(vit, "dist_token")
    if registers and not vit.has_class_token:
        raise ValueError("it has register tokens without a class token, which these networks do not have")
    ratio, gelu = mlp.fc1.out_features / vit.embed_dim, type(mlp.act).__name__
    size = ViTSize(vit.embed_dim, len(vit.blocks), vit.blocks[0].attn.num_heads, ratio, epsilons.pop())
    return _plain(
        replace(size, gelu="quick" if gelu == "QuickGELU" else None, norm_pre="norm_pre" in norms, registers=registers)
    )


def _is_head(name: str) -> bool:
    return name.startswith(HEADS)


def _parts(vit: nn.Module) -> set[tuple[str, str]]:
    """Names and classes of what a model computes before its head, all layers as one, the kinds of GELU too."""
    found = {(name, part) for name, part in vit.named_modules() if name and not _is_head(name)}
    kinds = {(re.sub(r"\.\d+", ".*", name), type(part).__name__, part) for name, part in found}
    return {
        (name, "LayerNorm" if isinstance(part, nn.LayerNorm) else "GELU" if kind in _GELUS else kind)
        for name, kind, part in kinds
        if kind not in _INERT
    }


def refuse_other_structure(vit: Any, network: VideoTransformer) -> None:
    """Refuse a model of timm for a network that computes something else, with the flags that correct it.

    The GELU and its approximation by tanh count as one: they differ by less than 5e-4, and timm itself takes one for
    the other in weights that were trained in JAX.

    Raises:
        ValueError: a part of the size or the patches differ.
    """
    size, patch = structure(vit), vit.patch_embed.patch_size[0]
    theirs = asdict(size) | {"patch": patch}
    ours = asdict(_plain(network.size)) | {"patch": network.embed.patches.patch}
    if other := [f"{name} {value} (here {ours[name]})" for name, value in theirs.items() if value != ours[name]]:
        raise ValueError(f"it is another ViT, {', '.join(other)}: set --model.size {spec(size)} --model.patch {patch}")


def _plain(size: ViTSize) -> ViTSize:
    """A size in one way of writing it: ``None`` for defaults."""
    return replace(
        size,
        mlp_ratio=round(size.width * size.mlp_ratio) / size.width,
        eps=None if size.eps == 1e-6 else size.eps,
        gelu="quick" if size.gelu == "quick" else None,
        norm_pre=size.norm_pre or None,
        registers=size.registers or None,
    )


def spec(size: ViTSize) -> str:
    """A size as the value of a flag: its name, or what differs from the defaults."""
    given = {key: value for key, value in asdict(size).items() if value != {"mlp_ratio": 4.0}.get(key)}
    fields = ", ".join(f"{key}: {str(value).lower()}" for key, value in given.items())
    return next((name for name, one in SIZES.items() if one == size), f"'{{{fields}}}'")
