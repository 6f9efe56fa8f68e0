"""TimeSformer of the authors' release (https://arxiv.org/abs/2102.05095)."""

from collections.abc import Mapping

from torch import Tensor

from lit_video.network.positions import Positions, Resizing
from lit_video.network.timesformer import timesformer
from lit_video.network.transformer import VideoTransformer
from lit_video.weights.mapping import (
    TIMM,
    classes_of,
    fill,
    frame_clip,
    rename,
    size_of,
    take,
    without_prefix,
)

TIMESFORMER = TIMM | {
    "time_embed": "embed.temp_embed",
    "blocks.{}.temporal_norm1": "blocks.{}.scheme.time_attn.norm",
    "blocks.{}.temporal_attn.qkv": "blocks.{}.scheme.time_attn.qkv",
    "blocks.{}.temporal_attn.proj": "blocks.{}.scheme.time_attn.proj",
    "blocks.{}.temporal_fc": "blocks.{}.scheme.time_fc",
}


def load_timesformer(
    state_dict: Mapping[str, Tensor], *, heads: int, image_size: tuple[int, int], attention: str | None = None
) -> VideoTransformer:
    """TimeSformer, released ``.pyth`` names; a clip of another size or length gets the nearest positions, as there.

    ``state_dict`` is the ``model_state`` of a checkpoint, with or without the prefix ``model.``; ``attention`` is
    ``divided``, ``joint`` or ``space``, ``None`` for what the names show.
    """
    return build(rename(without_prefix(state_dict, "module.", "model."), TIMESFORMER), heads, image_size, attention)


def build(
    renamed: dict[str, Tensor], heads: int, image_size: tuple[int, int], attention: str | None
) -> VideoTransformer:
    """The network of a state dict that has our names already."""
    attention = attention or _attention(renamed)
    frames = 1 if attention == "space" else take(renamed, "embed.temp_embed", 3).shape[1]
    positions = Positions("space" if attention == "space" else "space-time", resizing=Resizing("nearest", "nearest"))
    clip = frame_clip(renamed, image_size, frames)
    return fill(timesformer(size_of(renamed, heads), classes_of(renamed), clip, attention, positions), renamed)


def _attention(renamed: Mapping[str, Tensor]) -> str:
    if any(".time_attn." in key for key in renamed):
        return "divided"
    return "joint" if "embed.temp_embed" in renamed else "space"
