"""Renaming of parameters and strict checks, shared by all sources of weights."""

import re
from collections.abc import Callable, Mapping

import torch
from einops import rearrange
from torch import Tensor

from lit_video.attention import Grid

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
    """Return our names for parts of Hugging Face's layers, except query, key and value; ``{}`` is the number."""
    attention = {"layernorm_before": "norm", "attention.output.dense": "proj"}
    mlp = {"layernorm_after": "norm", "intermediate.dense": "fc1", "output.dense": "fc2"}
    names = {f"{name}.{theirs}": f"blocks.{{}}.scheme.attn.{ours}" for theirs, ours in attention.items()}
    return names | {f"{name}.{theirs}": f"blocks.{{}}.mlp.{ours}" for theirs, ours in mlp.items()}


def new_name(key: str, names: Mapping[str, str]) -> str | None:
    """Return a parameter's new name, ``None`` if unknown; ``names`` maps layers and single parameters."""
    stem, _, leaf = key.rpartition(".")
    number = re.search(r"\.(\d+)\.", key)
    for name, suffix in ((key, ""), (stem, f".{leaf}")):
        if name in names:
            return names[name] + suffix
        pattern = re.sub(r"\.\d+(?=\.|$)", ".{}", name, count=1)
        if number and pattern in names:
            return names[pattern].format(number[1]) + suffix
    return None


def rename(state_dict: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Return the state dict under our names."""
    return rename_by(state_dict, lambda key: new_name(key, names))


def rename_by(
    state_dict: Mapping[str, Tensor],
    name_of: Callable[[str], str | None],
    refusal: str = "unknown keys in the state dict:",
) -> dict[str, Tensor]:
    """Return the state dict renamed by ``name_of``; refuse keys that have no new name."""
    names = {key: name_of(key) for key in state_dict}
    if unknown := sorted(key for key, name in names.items() if name is None):
        raise ValueError(f"{refusal} {', '.join(unknown)}")
    return {name: state_dict[key] for key, name in names.items() if name is not None}


def take(renamed: Mapping[str, Tensor], key: str, axes: int) -> Tensor:
    """Return a tensor; refuse another number of axes."""
    if key not in renamed:
        raise ValueError(f"the state dict lacks what becomes {key}")
    if renamed[key].ndim != axes:
        raise ValueError(f"shapes that do not fit: {key} has {renamed[key].ndim} axes, expected {axes}")
    return renamed[key]


def join_tubelets(renamed: dict[str, Tensor]) -> None:
    """Merge frames and channels of the tubelets' kernel ``(d, c, k, height, width)``, in place."""
    kernel = take(renamed, "embed.patches.proj.weight", 5)
    renamed["embed.patches.proj.weight"] = rearrange(kernel, "d c k height width -> d (c k) height width").contiguous()


def fuse(renamed: dict[str, Tensor], names: tuple[str, str, str]) -> None:
    """Concatenate the query, key and value projections called ``names`` as ``qkv``, in place."""
    for first in [key for key in renamed if f".{names[0]}." in key]:
        keys = [first.replace(f".{names[0]}.", f".{name}.") for name in names]
        parts = [take(renamed, key, renamed[first].ndim) for key in keys]
        if len({part.shape for part in parts}) > 1:
            raise ValueError(f"shapes that do not fit: {', '.join(keys)}")
        renamed[first.replace(f".{names[0]}.", ".qkv.")] = torch.cat(parts)
        for key in keys:
            del renamed[key]


def stored_grid(cells: int, here: Grid, square: bool = False) -> tuple[int, int]:
    """Guess rows and columns of a table of spatial positions from its number of ``cells``.

    The network's grid is tried first, then a square. With ``square`` (releases of square images) the square is first:
    the network's grid may have as many patches without being square.
    """
    side = round(cells**0.5)
    if side**2 == cells > 0 and (square or cells != here.h * here.w):
        return side, side
    if cells != here.h * here.w:
        raise ValueError(f"{cells} stored positions are neither those of {here.h} x {here.w} patches nor a square")
    return here.h, here.w


def refuse_other_names(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Refuse weights with missing or additional parameters."""
    missing, extra = sorted(ours.keys() - theirs.keys()), sorted(theirs.keys() - ours.keys())
    faults = {"lacks": missing, "has no place for": extra}
    if missing or extra:
        raise ValueError("it " + ", and ".join(f"{fault} {_some(keys)}" for fault, keys in faults.items() if keys))


def refuse_other_shapes(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Refuse weights whose shapes differ from the network's."""
    wrong = [key for key in theirs if theirs[key].shape != ours[key].shape]
    if wrong:
        shapes = [f"{key} is {tuple(ours[key].shape)} here, {tuple(theirs[key].shape)} in the file" for key in wrong]
        raise ValueError(_some(shapes))


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
