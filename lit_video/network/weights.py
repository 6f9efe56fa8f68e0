"""Image ViT weights (timm's names) into a video transformer's backbone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from lit_video.errors import UserError
from lit_video.network.embedding import resize_positions
from lit_video.network.transformer import VideoTransformer

# timm's name of a block's part -> ours
_BLOCK = {
    "norm1.": "scheme.attn.norm.",
    "attn.qkv.": "scheme.attn.qkv.",
    "attn.proj.": "scheme.attn.proj.",
    "norm2.": "mlp.norm.",
    "mlp.fc1.": "mlp.fc1.",
    "mlp.fc2.": "mlp.fc2.",
}
# the image classifier, which a video transformer replaces
_HEAD = ("head.", "pre_logits.", "fc_norm.")
_EMBED = {
    "cls_token": "embed.cls_token",
    "pos_embed": "embed.pos_embed",
    "patch_embed.proj.weight": "embed.proj.weight",
    "patch_embed.proj.bias": "embed.proj.bias",
    "norm.weight": "norm.weight",
    "norm.bias": "norm.bias",
}


def backbone_key(key: str) -> str | None:
    """Our name of a parameter of timm's ``VisionTransformer``; ``None`` for what has no place in a backbone."""
    if key in _EMBED:
        return _EMBED[key]
    if match := re.fullmatch(r"blocks\.(\d+)\.(.+)", key):
        index, part = match.groups()
        for theirs, ours in _BLOCK.items():
            if part.startswith(theirs):
                return f"blocks.{index}.{ours}{part.removeprefix(theirs)}"
    return None


def load_image_vit(network: VideoTransformer, state_dict: Mapping[str, Tensor]) -> None:
    """Initialise the backbone from an image ViT; the classifier and the temporal positions (zeros) stay as they are.

    Spatial positions of another grid are resized bicubically, the class slot kept; they are dropped where the network
    has no positions.

    Args:
        network: the video transformer, changed in place.
        state_dict: a timm ``VisionTransformer``'s weights.

    Raises:
        ValueError: a parameter of the backbone is missing, has another shape, or has no place in the network. Nothing
            has been changed then.
    """
    ours = {k: v for k, v in network.state_dict().items() if not k.startswith("aggregate.") and k != "embed.temp_embed"}
    renamed = {backbone_key(key): value for key, value in state_dict.items() if not key.startswith(_HEAD)}
    unknown = [key for key in state_dict if not key.startswith(_HEAD) and backbone_key(key) not in ours]
    unknown = [key for key in unknown if key != "pos_embed"]  # a network without positions leaves them out
    if unknown:
        raise ValueError(f"the image weights have no place for {', '.join(unknown)}")
    missing = [key for key in ours if key not in renamed]
    if missing:
        raise ValueError(f"the image weights have no parameter for {', '.join(missing)}")
    if "embed.pos_embed" in ours:
        renamed["embed.pos_embed"] = _resized(network, renamed["embed.pos_embed"])
    for key, target in ours.items():
        if renamed[key].shape != target.shape:
            raise ValueError(f"{key} is {tuple(target.shape)} here, {tuple(renamed[key].shape)} in the image weights")
    with torch.no_grad():
        for key, target in ours.items():
            target.copy_(renamed[key])


def _resized(network: VideoTransformer, table: Tensor) -> Tensor:
    """Positions of a square image resized to the network's grid; those of another shape must be the network's own."""
    cells, grid = table.shape[1] - 1, network.embed.grid
    side = round(cells**0.5)
    if side**2 == cells:
        return resize_positions(table, (side, side), grid)
    if cells != grid[0] * grid[1]:
        raise ValueError(f"pos_embed: {cells} positions are neither those of a square image nor of the network's grid")
    return table


def read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors of a ``.safetensors`` or torch file; code in a file is never run.

    Raises:
        UserError: the file does not exist, cannot be read, or holds no tensors by name.
    """
    if not path.is_file():
        raise UserError(f"the weights file {path} does not exist")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        reason = str(error).split("\n")[0] or type(error).__name__
        raise UserError(f"{path} cannot be read as weights: {reason}") from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise UserError(f"{path} holds no state dict (names and tensors)")
    return content
