"""Renaming of parameters, sizes read from shapes, and strict filling: the parts that all loaders share."""

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from lit_video.attention import Grid
from lit_video.network.patches import ClipSize
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize

# timm's names -> ours; {} stands for a layer's number
TIMM = {
    "cls_token": "embed.cls_token",
    "pos_embed": "embed.pos_embed",
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


def new_name(key: str, names: Mapping[str, str]) -> str | None:
    """A parameter's name under other names; ``names`` maps layers and lone parameters. ``None``: it has none."""
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
    """The state dict under our names.

    Raises:
        ValueError: a key has no place; all of them are named.
    """
    return rename_by(state_dict, lambda key: new_name(key, names))


def rename_by(
    state_dict: Mapping[str, Tensor],
    name_of: Callable[[str], str | None],
    refusal: str = "unknown keys in the state dict:",
) -> dict[str, Tensor]:
    """The state dict under other names, each made of the old one.

    Raises:
        ValueError: a key has no other name; the refusal, and all such keys.
    """
    names = {key: name_of(key) for key in state_dict}
    if unknown := sorted(key for key, name in names.items() if name is None):
        raise ValueError(f"{refusal} {', '.join(unknown)}")
    return {name: state_dict[key] for key, name in names.items() if name is not None}


def take(renamed: Mapping[str, Tensor], key: str, axes: int) -> Tensor:
    """A tensor that sizes are read from.

    Raises:
        ValueError: it is missing, or has another number of axes.
    """
    if key not in renamed:
        raise ValueError(f"the state dict lacks what becomes {key}")
    if renamed[key].ndim != axes:
        raise ValueError(f"shapes that do not fit: {key} has {renamed[key].ndim} axes, expected {axes}")
    return renamed[key]


def fuse(renamed: dict[str, Tensor], names: tuple[str, str, str]) -> None:
    """Join the projections to query, key and value, called ``names``, to ``qkv``, in place.

    Raises:
        ValueError: one of the three is missing, or of another shape.
    """
    for first in [key for key in renamed if f".{names[0]}." in key]:
        keys = [first.replace(f".{names[0]}.", f".{name}.") for name in names]
        parts = [take(renamed, key, renamed[first].ndim) for key in keys]
        if len({part.shape for part in parts}) > 1:
            raise ValueError(f"shapes that do not fit: {', '.join(keys)}")
        renamed[first.replace(f".{names[0]}.", ".qkv.")] = torch.cat(parts)
        for key in keys:
            del renamed[key]


def size_of(renamed: Mapping[str, Tensor], heads: int) -> ViTSize:
    """Width, depth and hidden width of the encoder."""
    width = take(renamed, "blocks.0.mlp.norm.weight", 1).shape[0]
    hidden = take(renamed, "blocks.0.mlp.fc1.weight", 2).shape[0]
    depth = 1 + max(int(match[1]) for key in renamed if (match := re.match(r"blocks\.(\d+)\.", key)))
    return ViTSize(width, depth, heads, hidden / width)


def patch_of(renamed: Mapping[str, Tensor]) -> int:
    """Side of a patch in pixels."""
    return take(renamed, "embed.patches.proj.weight", 4).shape[-1]


def classes_of(renamed: Mapping[str, Tensor], head: str = "aggregate.head") -> int:
    """Number of outputs of the classifier."""
    return take(renamed, f"{head}.weight", 2).shape[0]


def frame_clip(renamed: Mapping[str, Tensor], image_size: tuple[int, int], frames: int) -> ClipSize:
    """The clip that positions of frames, led by the class token's, are laid out for."""
    patch = patch_of(renamed)
    rows, columns = stored_grid(take(renamed, "embed.pos_embed", 3).shape[1] - 1, image_size, patch)
    return ClipSize((rows * patch, columns * patch), patch, frames)


def patch_grid(image_size: tuple[int, int], patch: int) -> tuple[int, int]:
    """Grid (rows, columns) of patches in an image.

    Raises:
        ValueError: the patch does not divide it.
    """
    if min(image_size) < 1 or image_size[0] % patch or image_size[1] % patch:
        raise ValueError(f"image_size {image_size[0]}x{image_size[1]} is not divisible by the patch {patch}")
    return image_size[0] // patch, image_size[1] // patch


def stored_grid(cells: int, image_size: tuple[int, int], patch: int) -> tuple[int, int]:
    """Grid (rows, columns) that spatial positions are laid out on: the square of their number, else the image's.

    Releases are of squares: an image of another shape may have as many patches.

    Raises:
        ValueError: they are neither.
    """
    rows, columns = patch_grid(image_size, patch)
    side = round(cells**0.5)
    if side**2 != cells and rows * columns == cells:
        return rows, columns
    if side**2 != cells:
        raise ValueError(f"image_size: {cells} stored positions are neither those of {image_size} pixels nor a square")
    return side, side


def stored_joint_grid(cells: int, image_size: tuple[int, int], patch: int, tubelets: int | None) -> Grid:
    """Grid that positions over space and time are laid out on.

    Given the tubelets along time, rows and columns are those of ``image_size``, else a square; without, time is what
    ``image_size`` leaves.

    Raises:
        ValueError: the number of positions does not allow it.
    """
    rows, columns = patch_grid(image_size, patch)
    t = tubelets or cells // (rows * columns)
    if t < 1 or cells % t or (tubelets is None and cells % (rows * columns)):
        raise ValueError(
            f"image_size {image_size}: {cells} stored positions are not {tubelets or 't'} x {rows} x {columns}"
        )
    return Grid(t, *stored_grid(cells // t, image_size, patch))


def refuse_other_names(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Refuse weights that lack a parameter of a network, or have one more.

    Raises:
        ValueError: names the first five of each.
    """
    missing, extra = sorted(ours.keys() - theirs.keys()), sorted(theirs.keys() - ours.keys())
    faults = {"lacks": missing, "has no place for": extra}
    if missing or extra:
        raise ValueError("it " + ", and ".join(f"{fault} {_some(keys)}" for fault, keys in faults.items() if keys))


def refuse_other_shapes(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    """Refuse weights of other shapes than those of a network's parameters.

    Raises:
        ValueError: names the first five.
    """
    wrong = [key for key in theirs if theirs[key].shape != ours[key].shape]
    if wrong:
        shapes = [f"{key} is {tuple(ours[key].shape)} here, {tuple(theirs[key].shape)} in the file" for key in wrong]
        raise ValueError(_some(shapes))


def _some(keys: list[str]) -> str:
    return ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")


def fill(network: VideoTransformer, renamed: Mapping[str, Tensor]) -> VideoTransformer:
    """Load strictly; the network in eval mode and in the weights' dtype.

    Raises:
        ValueError: keys are missing, left over, or of another shape.
    """
    refuse_other_names(network.state_dict(), renamed)
    refuse_other_shapes(network.state_dict(), renamed)
    network.to(next(iter(renamed.values())).dtype).load_state_dict(dict(renamed))
    return network.eval()
