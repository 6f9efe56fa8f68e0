"""Conversion of X-ViT, TimeSformer, ViViT and VideoMAE from their authors' names and layouts to ours."""

import re
from collections.abc import Mapping
from functools import partial

import torch
from einops import rearrange
from torch import Tensor

from lit_video.weights.mapping import TIMM, fuse, hugging_face_layer, join_tubelets, rename, rename_by, take
from lit_video.weights.parts import matching, respelled, without

# X-ViT's temporal attention (https://arxiv.org/abs/2106.05968) -> ours
CONSENSUS = {
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
    """Rename ``base_model.*``, ``new_fc.*`` and, with temporal attention, ``consensus.*`` to our names."""
    if matching(state_dict, r"consensus\."):
        # the release keeps a classifier that temporal attention leaves unused
        state_dict = without(state_dict, r"(new_fc|base_model\.head)\.(weight|bias)$")
    renamed = rename(state_dict, XVIT | CONSENSUS)
    renamed["embed.temp_embed"] = take(renamed, "embed.temp_embed", 4).squeeze(2)
    return renamed


TIMESFORMER = TIMM | {
    "time_embed": "embed.temp_embed",
    "blocks.{}.temporal_norm1": "blocks.{}.scheme.time_attn.norm",
    "blocks.{}.temporal_attn.qkv": "blocks.{}.scheme.time_attn.qkv",
    "blocks.{}.temporal_attn.proj": "blocks.{}.scheme.time_attn.proj",
    "blocks.{}.temporal_fc": "blocks.{}.scheme.time_fc",
}
timesformer_names = partial(rename, names=TIMESFORMER)


# flax's names of a layer's parameters -> torch's
_LEAVES = {"kernel": "weight", "scale": "weight", "bias": "bias"}
# flax's names of a layer's parts -> ours
_PARTS = {
    "LayerNorm_0": "scheme.attn.norm",
    "LayerNorm_space": "scheme.attn.norm",
    "LayerNorm_time": "scheme.time_attn.norm",
    "LayerNorm_1": "mlp.norm",
    "LayerNorm_mlp": "mlp.norm",
    "MlpBlock_0/Dense_0": "mlp.fc1",
    "MlpBlock_0/Dense_1": "mlp.fc2",
    "MlpBlock/Dense_0": "mlp.fc1",
    "MlpBlock/Dense_1": "mlp.fc2",
    "MultiHeadDotProductAttention_0": "scheme.attn",
    "MultiHeadDotProductAttention_space": "scheme.attn",
    "MultiHeadDotProductAttention_time": "scheme.time_attn",
}
_ALONE = {
    "cls": "embed.cls_token",
    "cls_SpatialTransformer": "embed.cls_token",
    "cls_TemporalTransformer": "aggregate.cls_token",
    "Transformer/posembed_input/pos_embedding": "embed.pos_embed",
    "SpatialTransformer/posembed_input/pos_embedding": "embed.pos_embed",
    "TemporalTransformer/posembed_input/pos_embedding": "aggregate.pos_embed",
    "Transformer/encoder_norm": "norm",
    "SpatialTransformer/encoder_norm": "norm",
    "TemporalTransformer/encoder_norm": "aggregate.norm",
    "embedding": "embed.patches.proj",
    "output_projection": "aggregate.head",
}
_LAYERS = {"Transformer": "blocks", "SpatialTransformer": "blocks", "TemporalTransformer": "aggregate.layers"}


def scenic_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename ViViT's models 1 to 4 from flax names, joined with ``/``, to ours; convert layouts to torch's."""
    renamed = rename_by(state_dict, _name)
    for name, value in renamed.items():
        if name == "embed.patches.proj.weight":  # join a tubelet's frames with its channels
            if value.ndim not in (4, 5):
                raise ValueError(f"shapes that do not fit: embedding/kernel has {value.ndim} axes, expected 4 or 5")
            kernel = value.reshape(-1, *value.shape[-4:])  # a kernel for single frames has no axis of time
            renamed[name] = rearrange(kernel, "k height width c d -> d (c k) height width").contiguous()
            continue

        if re.search(r"\.(query|key|value)\.", name) and value.ndim > 1:  # merge heads
            value = value.flatten(-2)
        elif name.endswith(".proj.weight") and value.ndim > 1:
            value = value.flatten(0, 1)
        renamed[name] = value.T.contiguous() if name.endswith(".weight") and value.ndim == 2 else value
    fuse(renamed, ("query", "key", "value"))
    return renamed


def refuse_other_heads(state_dict: Mapping[str, Tensor], num_heads: int) -> None:
    """Refuse weights with another number of heads, while they still have flax's shapes, which show it."""
    for key, value in state_dict.items():
        inputs = int(key.endswith("/kernel"))  # axes before the axis of the heads
        if re.search("/(query|key|value)/(kernel|bias)$", key) and value.shape[inputs:-1] != (num_heads,):
            raise ValueError(f"num_heads is {num_heads}, but {key} is {tuple(value.shape)}")


def _name(key: str) -> str | None:
    """Return our name of a flax parameter, with query, key and value still separate; ``None`` if unknown."""
    stem, _, leaf = key.rpartition("/")
    if key in _ALONE:
        return _ALONE[key]
    if stem in _ALONE and leaf in _LEAVES:
        return f"{_ALONE[stem]}.{_LEAVES[leaf]}"

    match = re.fullmatch(r"(\w+)/encoderblock_(\d+)/(.+?)(?:/(query|key|value|out))?/(kernel|scale|bias)", key)
    if not match or match[1] not in _LAYERS or match[3] not in _PARTS:
        return None

    encoder, number, part, projection, parameter = match.groups()
    suffix = {None: "", "out": ".proj"}.get(projection, f".{projection}")
    return f"{_LAYERS[encoder]}.{number}.{_PARTS[part]}{suffix}.{_LEAVES[parameter]}"


_LAYER = "videomae.encoder.layer.{}"
# names of VideoMAEForVideoClassification -> ours
_TRANSFORMERS = hugging_face_layer(_LAYER) | {
    "videomae.embeddings.patch_embeddings.projection": "embed.patches.proj",
    f"{_LAYER}.attention.attention.query.weight": "blocks.{}.scheme.attn.q.weight",
    f"{_LAYER}.attention.attention.key.weight": "blocks.{}.scheme.attn.k.weight",
    f"{_LAYER}.attention.attention.value.weight": "blocks.{}.scheme.attn.v.weight",
    f"{_LAYER}.attention.attention.query.bias": "blocks.{}.scheme.attn.q_bias",
    f"{_LAYER}.attention.attention.value.bias": "blocks.{}.scheme.attn.v_bias",
    f"{_LAYER}.attention.attention.q_bias": "blocks.{}.scheme.attn.q_bias",  # name in files on the hub
    f"{_LAYER}.attention.attention.v_bias": "blocks.{}.scheme.attn.v_bias",
    "fc_norm": "norm",
    "classifier": "aggregate.head",
}
_AUTHORS = TIMM | {
    "blocks.{}.attn.q_bias": "blocks.{}.scheme.attn.q_bias",
    "blocks.{}.attn.v_bias": "blocks.{}.scheme.attn.v_bias",
    "fc_norm": "norm",
}
MARK = r"videomae\.|(encoder\.)?blocks\.\d+\.attn\.q_bias"
# parts of a masked autoencoder that fine-tuning drops, the last norm included (authors' run_class_finetuning.py)
PRETRAINING = r"decoder\.|encoder_to_decoder\.|mask_token$|(encoder|videomae)\.(layer)?norm\."


def videomae_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename a classifier or pre-trained encoder to our names; the missing bias of attention keys becomes zero.

    Source: VideoMAE, arXiv:2203.12602, and VideoMAE V2, arXiv:2303.16727; names as in their released code, and in
    ``VideoMAEForVideoClassification``.
    """
    kept = respelled(without(state_dict, PRETRAINING), r"^encoder\.(?=blocks|patch_embed)", "")
    renamed = rename(kept, _TRANSFORMERS if matching(kept, r"videomae\.") else _AUTHORS)
    for key in matching(renamed, r".*\.q_bias$"):
        stem = key.removesuffix("q_bias")
        query = renamed.pop(key)
        value = take(renamed, f"{stem}v_bias", 1)
        renamed[f"{stem}qkv.bias"] = torch.cat((query, torch.zeros_like(query), value))
        del renamed[f"{stem}v_bias"]

    fuse(renamed, ("q", "k", "v"))
    join_tubelets(renamed)
    return renamed
