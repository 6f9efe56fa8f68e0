"""X-ViT of the authors' release (https://arxiv.org/abs/2106.05968)."""

import math
import re
from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from lit_video.attention import MixingPlan
from lit_video.attention.mixing import Target
from lit_video.network.aggregation import TemporalAttention, TemporalMean
from lit_video.network.positions import Positions, Resizing
from lit_video.network.transformer import VideoTransformer
from lit_video.network.xvit import xvit
from lit_video.weights.mapping import (
    TIMM,
    classes_of,
    fill,
    frame_clip,
    rename,
    size_of,
    take,
)

_CONSENSUS = {
    "consensus.cls_token": "aggregate.cls_token",
    "consensus.temporal_encoder.{}.norm1": "aggregate.layers.{}.attn.norm",
    "consensus.temporal_encoder.{}.attn.qkv": "aggregate.layers.{}.attn.qkv",
    "consensus.temporal_encoder.{}.attn.proj": "aggregate.layers.{}.attn.proj",
    "consensus.temporal_encoder.{}.norm2": "aggregate.layers.{}.mlp.norm",
    "consensus.temporal_encoder.{}.mlp.fc1": "aggregate.layers.{}.mlp.fc1",
    "consensus.temporal_encoder.{}.mlp.fc2": "aggregate.layers.{}.mlp.fc2",
    "consensus.mlp_head.0": "aggregate.head.0",
    "consensus.mlp_head.1": "aggregate.head.1",
    "consensus.mlp_head.4": "aggregate.head.4",
}
XVIT = {f"base_model.{key}": name for key, name in TIMM.items()} | {
    "base_model.temp_embed": "embed.temp_embed",
    "new_fc": "aggregate.head",
}


def load_xvit(
    state_dict: Mapping[str, Tensor],
    *,
    heads: int,
    image_size: tuple[int, int],
    ratio: float = 0.5,
    segments: int | None = None,
    layers: Sequence[int] | None = None,
    mixed: Sequence[Target] = ("key", "value"),
    ta_heads: int | None = None,
) -> VideoTransformer:
    """X-ViT of the authors' release; mixing moves whole heads (scope ``full``), window 1.

    Args:
        state_dict: keys ``base_model.*``, ``new_fc.*`` and, with temporal attention, ``consensus.*``.
        heads: heads of the backbone.
        image_size: (height, width) in pixels.
        ratio: 2 / SHIFT_DIV; floor(ratio * width / 2) channels come from each neighbouring frame.
        segments: frames per shift group; ``None`` for the whole clip.
        layers: indices of the mixing layers; ``None`` for all.
        mixed: out of ``x``, ``key``, ``value`` and ``query``; empty for none.
        ta_heads: heads of the temporal attention; ``None`` for ``heads``.
    """
    ta = any(key.startswith("consensus.") for key in state_dict)
    if ta:  # the release keeps a classifier that temporal attention leaves unused
        unused = re.compile(r"(new_fc|base_model\.head)\.(weight|bias)")
        state_dict = {name: value for name, value in state_dict.items() if not unused.fullmatch(name)}
    renamed = rename(state_dict, XVIT | _CONSENSUS)
    size = size_of(renamed, heads)
    classes = classes_of(renamed, "aggregate.head.4" if ta else "aggregate.head")
    aggregate: nn.Module = TemporalMean(size.width, classes)
    if ta:
        layers_of_ta = len({key.split(".")[2] for key in renamed if key.startswith("aggregate.layers.")})
        hidden = take(renamed, "aggregate.head.1.weight", 2).shape[0]
        aggregate = TemporalAttention(size.width, classes, layers_of_ta, ta_heads or heads, hidden)
    renamed["embed.temp_embed"] = take(renamed, "embed.temp_embed", 4).squeeze(2)
    network = xvit(
        size,
        classes,
        frame_clip(renamed, image_size, renamed["embed.temp_embed"].shape[1]),
        plan=MixingPlan(
            # with less than one channel to move the release moves none
            window=1 if mixed and math.floor(ratio * size.width / 2 + 1e-6) else 0,
            ratio=ratio,
            mixed=tuple(mixed),
            scope="full",
            segment=segments,
        ),
        layers="all" if layers is None else list(layers),
        aggregate=aggregate,
        positions=Positions(resizing=Resizing(time="repeat")),
    )
    return fill(network, renamed)
