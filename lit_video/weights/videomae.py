"""VideoMAE's encoder, of its authors (v1 and v2) and of transformers, as ViViT's model 1."""

import re
from collections.abc import Mapping

import torch
from einops import rearrange
from torch import Tensor

from lit_video.weights.mapping import TIMM, fuse, rename, take

_LAYER = "videomae.encoder.layer.{}"
# names of VideoMAEForVideoClassification -> ours
_TRANSFORMERS = {
    "videomae.embeddings.patch_embeddings.projection": "embed.patches.proj",
    f"{_LAYER}.layernorm_before": "blocks.{}.scheme.attn.norm",
    f"{_LAYER}.attention.attention.query.weight": "blocks.{}.scheme.attn.q.weight",
    f"{_LAYER}.attention.attention.key.weight": "blocks.{}.scheme.attn.k.weight",
    f"{_LAYER}.attention.attention.value.weight": "blocks.{}.scheme.attn.v.weight",
    f"{_LAYER}.attention.attention.query.bias": "blocks.{}.scheme.attn.q_bias",
    f"{_LAYER}.attention.attention.value.bias": "blocks.{}.scheme.attn.v_bias",
    f"{_LAYER}.attention.attention.q_bias": "blocks.{}.scheme.attn.q_bias",  # of files on the hub
    f"{_LAYER}.attention.attention.v_bias": "blocks.{}.scheme.attn.v_bias",
    f"{_LAYER}.attention.output.dense": "blocks.{}.scheme.attn.proj",
    f"{_LAYER}.layernorm_after": "blocks.{}.mlp.norm",
    f"{_LAYER}.intermediate.dense": "blocks.{}.mlp.fc1",
    f"{_LAYER}.output.dense": "blocks.{}.mlp.fc2",
    "fc_norm": "norm",
    "classifier": "aggregate.head",
}
_AUTHORS = TIMM | {
    "blocks.{}.attn.q_bias": "blocks.{}.scheme.attn.q_bias",
    "blocks.{}.attn.v_bias": "blocks.{}.scheme.attn.v_bias",
    "fc_norm": "norm",
}
MARK = r"videomae\.|(encoder\.)?blocks\.\d+\.attn\.q_bias"
# of pre-training; its last norm is left out in fine-tuning, by the authors too (run_class_finetuning.py)
_PRETRAINING = r"decoder\.|encoder_to_decoder\.|mask_token$|(encoder|videomae)\.(layer)?norm\."


def is_pretraining(state_dict: Mapping[str, Tensor]) -> bool:
    """Whether the weights are of the masked autoencoder: without a classifier and a norm of the mean."""
    return any(re.match(_PRETRAINING, key) for key in state_dict)


def videomae_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Classifier or pre-trained encoder under our names; its keys have no bias, which here is zero.

    Source: VideoMAE, arXiv:2203.12602, and VideoMAE V2, arXiv:2303.16727; names as in their released code, and in
    ``VideoMAEForVideoClassification``.
    """
    kept = {key: value for key, value in state_dict.items() if not re.match(_PRETRAINING, key)}
    kept = {re.sub(r"^encoder\.(?=blocks|patch_embed)", "", key): value for key, value in kept.items()}
    renamed = rename(kept, _TRANSFORMERS if any(key.startswith("videomae.") for key in kept) else _AUTHORS)
    for key in [key for key in renamed if key.endswith(".q_bias")]:
        stem, query = key.removesuffix("q_bias"), renamed.pop(key)
        value = take(renamed, f"{stem}v_bias", 1)
        renamed[f"{stem}qkv.bias"] = torch.cat((query, torch.zeros_like(query), value))
        del renamed[f"{stem}v_bias"]
    fuse(renamed, ("q", "k", "v"))
    kernel = take(renamed, "embed.patches.proj.weight", 5)
    renamed["embed.patches.proj.weight"] = rearrange(kernel, "d c k height width -> d (c k) height width").contiguous()
    return renamed
