"""Image ViT weights (timm's names) into a video transformer's backbone."""

from __future__ import annotations

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
_EMBED = {
    "cls_token": "embed.cls_token",
    "pos_embed": "embed.pos_embed",
    "patch_embed.proj.weight": "embed.proj.weight",
    "patch_embed.proj.bias": "embed.proj.bias",
    "norm.weight": "norm.weight",
    "norm.bias": "norm.bias",
}


def backbone_key(key: str) -> str | None:
    """Our name of a parameter of timm's ``VisionTransformer``; ``None`` for what has no place here (its head)."""
    if key in _EMBED:
        return _EMBED[key]
    if key.startswith("blocks."):
        _, index, part = key.split(".", 2)
        for theirs, ours in _BLOCK.items():
            if part.startswith(theirs):
                return f"blocks.{index}.{ours}{part.removeprefix(theirs)}"
    return None


def load_image_vit(network: VideoTransformer, state_dict: Mapping[str, Tensor]) -> list[str]:
    """Initialise the backbone from an image ViT; the classifier and the temporal positions (zeros) stay as they are.

    Spatial positions of another grid are resized bicubically, the class slot kept; they are dropped where the network
    has no positions.

    Args:
        network: the video transformer, changed in place.
        state_dict: a timm ``VisionTransformer``'s weights.

    Returns:
        The keys of ``state_dict`` that have no place in the network (the image classifier).

    Raises:
        ValueError: a parameter of the backbone is missing or has another shape.
    """
    renamed = {backbone_key(key): value for key, value in state_dict.items()}
    unused = [key for key in state_dict if backbone_key(key) is None]
    ours = network.state_dict()
    with torch.no_grad():
        for key, target in ours.items():
            if key.startswith("aggregate.") or key == "embed.temp_embed":
                continue
            if key not in renamed:
                raise ValueError(f"the image weights have no parameter for {key}")
            value = renamed[key]
            if key == "embed.pos_embed":
                value = _resized(network, value)
            if value.shape != target.shape:
                raise ValueError(f"{key} is {tuple(target.shape)} here, {tuple(value.shape)} in the image weights")
            target.copy_(value)
    return unused


def _resized(network: VideoTransformer, table: Tensor) -> Tensor:
    """A square grid's positions on the network's grid."""
    side = round((table.shape[1] - 1) ** 0.5)
    return resize_positions(table, (side, side), network.embed.grid)


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
        raise UserError(f"{path} cannot be read as weights: {str(error).splitlines()[0]}") from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise UserError(f"{path} holds no state dict (names and tensors)")
    return content
