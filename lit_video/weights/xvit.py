"""X-ViT of the authors' release (https://arxiv.org/abs/2106.05968)."""

import re
from collections.abc import Mapping

from torch import Tensor

from lit_video.weights.mapping import TIMM, rename, take

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


def xvit_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Keys ``base_model.*``, ``new_fc.*`` and, with temporal attention, ``consensus.*``, under our names."""
    if any(key.startswith("consensus.") for key in state_dict):
        # the release keeps a classifier that temporal attention leaves unused
        unused = re.compile(r"(new_fc|base_model\.head)\.(weight|bias)")
        state_dict = {name: value for name, value in state_dict.items() if not unused.fullmatch(name)}
    renamed = rename(state_dict, XVIT | _CONSENSUS)
    renamed["embed.temp_embed"] = take(renamed, "embed.temp_embed", 4).squeeze(2)
    return renamed
