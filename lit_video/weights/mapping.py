"""Renaming of parameters and strict checks, shared by all sources of weights."""

import re
from collections.abc import Callable, Mapping
from functools import partial

import torch
from einops import rearrange
from torch import Tensor

from lit_video.attention import Grid
from lit_video.utils.text import shortened
from lit_video.weights.parts import matching

NAMES_SHOWN = 5  # parameters that a message names
# timm's names -> ours; {} stands for a layer's number
TIMM = {
    "cls_token": "embed.cls_token",
    "pos_embed": "embed.pos_embed",
    "reg_token": "embed.reg_token",
    "norm_pre": "embed.norm_pre",
    "patch_embed.proj": "embed.patches.proj",
    "blocks.{}.norm1": "blocks.{}.scheme.attn.norm",
    "blocks.{}.attn.qkv": "blocks.{}.scheme.attn.qkv",
    "blocks.{}.attn.proj": "blocks.{}.scheme.attn.proj",
    "blocks.{}.norm2": "blocks.{}.mlp.norm",
    "blocks.{}.mlp.fc1": "blocks.{}.mlp.fc1",
    "blocks.{}.mlp.fc2": "blocks.{}.mlp.fc2",
    "norm": "norm",
    "head": "aggregate.head",
}


def hugging_face_layer(name: str) -> dict[str, str]:
    """Map Hugging Face's names of a layer's parts to ours, except query, key, value; ``{}`` is the layer's number."""
    return {
        f"{name}.layernorm_before": "blocks.{}.scheme.attn.norm",
        f"{name}.attention.output.dense": "blocks.{}.scheme.attn.proj",
        f"{name}.layernorm_after": "blocks.{}.mlp.norm",
        f"{name}.intermediate.dense": "blocks.{}.mlp.fc1",
        f"{name}.output.dense": "blocks.{}.mlp.fc2",
    }


def new_name(key: str, names: Mapping[str, str]) -> str | None:
    """Return a parameter's new name, ``None`` if unknown; ``names`` maps names of layers and of single parameters."""
    layer, _, leaf = key.rpartition(".")
    number = re.search(r"\.(\d+)\.", key)
    # a parameter by its whole name, else by that of its layer: then ``.weight`` or ``.bias`` stays
    for name, suffix in ((key, ""), (layer, f".{leaf}")):
        if name in names:
            return names[name] + suffix
        numbered = re.sub(r"\.\d+(?=\.|$)", ".{}", name, count=1)
        if number and numbered in names:
            return names[numbered].format(number[1]) + suffix
    return None


def rename(state_dict: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Return the state dict under our names."""
    return rename_by(state_dict, partial(new_name, names=names))


def rename_by(
    state_dict: Mapping[str, Tensor],
    name_of: Callable[[str], str | None],
    refusal: str = "unknown keys in the state dict:",
) -> dict[str, Tensor]:
    """Return the state dict renamed by ``name_of``; refuse keys that have no new name."""
    renamed: dict[str, Tensor] = {}
    unknown: list[str] = []
    for key, value in state_dict.items():
        name = name_of(key)
        if name:
            renamed[name] = value
        else:
            unknown.append(key)

    if unknown:
        raise ValueError(f"{refusal} {', '.join(sorted(unknown))}")
    return renamed


def take(renamed: Mapping[str, Tensor], key: str, axes: int) -> Tensor:
    """Return the tensor called ``key``; refuse a missing one, or a number of axes other than ``axes``."""
    if key not in renamed:
        raise ValueError(f"the state dict lacks the parameter for {key}")
    if renamed[key].ndim != axes:
        raise ValueError(f"shapes that do not fit: {key} has {renamed[key].ndim} axes, expected {axes}")
    return renamed[key]


def join_tubelets(renamed: dict[str, Tensor]) -> None:
    """Merge channels c and frames k of the tubelets' kernel ``(d, c, k, height, width)``, in place."""
    kernel = take(renamed, "embed.patches.proj.weight", 5)
    renamed["embed.patches.proj.weight"] = rearrange(kernel, "d c k height width -> d (c k) height width").contiguous()


def fuse(renamed: dict[str, Tensor], names: tuple[str, str, str]) -> None:
    """Replace the query, key and value projections called ``names`` by their concatenation ``qkv``, in place."""
    query = names[0]
    for query_key in matching(renamed, rf".*\.{query}\."):
        axes = renamed[query_key].ndim
        parts: list[Tensor] = []
        for name in names:
            key = query_key.replace(f".{query}.", f".{name}.")
            parts.append(take(renamed, key, axes))
            if parts[-1].shape != parts[0].shape:
                raise ValueError(f"shapes that do not fit: {query_key}, {key}")
            del renamed[key]

        renamed[query_key.replace(f".{query}.", ".qkv.")] = torch.cat(parts)


def stored_grid(cells: int, here: Grid, square: bool = False) -> tuple[int, int]:
    """Guess the shape of ``cells`` positions: that of ``here``, else a square; with ``square`` a square first."""
    side = round(cells**0.5)
    is_square = side**2 == cells > 0
    if cells == here.h * here.w and not (square and is_square):
        return here.h, here.w
    if not is_square:
        raise ValueError(f"{cells} stored positions are neither those of {here.h} x {here.w} patches nor a square")
    return side, side


def refuse_other_names(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights with missing or additional parameters."""
    lacking = sorted(expected.keys() - weights.keys())
    unknown = sorted(weights.keys() - expected.keys())

    faults = []
    if lacking:
        faults.append(f"lacks {shortened(lacking, NAMES_SHOWN)}")
    if unknown:
        faults.append(f"has no place for {shortened(unknown, NAMES_SHOWN)}")
    if faults:
        raise ValueError(f"it {', and '.join(faults)}")


def refuse_other_shapes(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights whose shapes differ from the network's."""
    wrong = []
    for key, value in weights.items():
        if value.shape != expected[key].shape:
            wrong.append(f"{key} is {tuple(expected[key].shape)} here, {tuple(value.shape)} in the file")

    if wrong:
        raise ValueError(shortened(wrong, NAMES_SHOWN))
