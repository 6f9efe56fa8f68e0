"""Image ViTs under timm's names: of AugReg (JAX), Hugging Face's transformers and torchvision."""

import re
from collections.abc import Mapping

from torch import Tensor

from lit_video.weights.hugging_face import current_name
from lit_video.weights.mapping import LEAVES, fuse, new_name, rename_by, torch_layout

_HEAD = ("head", "pre_logits")
REFUSAL = "the image weights have no place for"
# flax's names (https://arxiv.org/abs/2106.10270, AugReg's .npz) -> timm's
_FLAX = {
    "cls": "cls_token",
    "embedding": "patch_embed.proj",
    "Transformer/posembed_input/pos_embedding": "pos_embed",
    "Transformer/encoder_norm": "norm",
    "LayerNorm_0": "norm1",
    "LayerNorm_2": "norm2",
    "MultiHeadDotProductAttention_1": "attn",
    "MlpBlock_3/Dense_0": "mlp.fc1",
    "MlpBlock_3/Dense_1": "mlp.fc2",
}
# names of transformers 5, without vit. -> timm's
_HUGGING_FACE = {
    "embeddings.cls_token": "cls_token",
    "embeddings.position_embeddings": "pos_embed",
    "embeddings.patch_embeddings.projection": "patch_embed.proj",
    "layernorm": "norm",
    "classifier": "head",
    "pooler.dense": "pre_logits.fc",
    "layers.{}.layernorm_before": "blocks.{}.norm1",
    "layers.{}.attention.q_proj": "blocks.{}.attn.query",
    "layers.{}.attention.k_proj": "blocks.{}.attn.key",
    "layers.{}.attention.v_proj": "blocks.{}.attn.value",
    "layers.{}.attention.o_proj": "blocks.{}.attn.proj",
    "layers.{}.layernorm_after": "blocks.{}.norm2",
    "layers.{}.mlp.fc1": "blocks.{}.mlp.fc1",
    "layers.{}.mlp.fc2": "blocks.{}.mlp.fc2",
}
# torchvision's names -> timm's, layers as encoder.layers.NUMBER
_TORCHVISION = {
    "class_token": "cls_token",
    "conv_proj": "patch_embed.proj",
    "encoder.pos_embedding": "pos_embed",
    "encoder.ln": "norm",
    "heads.head": "head",
    "heads.pre_logits": "pre_logits.fc",
    "encoder.layers.{}.ln_1": "blocks.{}.norm1",
    "encoder.layers.{}.ln_2": "blocks.{}.norm2",
    "encoder.layers.{}.self_attention.in_proj_weight": "blocks.{}.attn.qkv.weight",
    "encoder.layers.{}.self_attention.in_proj_bias": "blocks.{}.attn.qkv.bias",
    "encoder.layers.{}.self_attention.out_proj": "blocks.{}.attn.proj",
    "encoder.layers.{}.mlp.0": "blocks.{}.mlp.fc1",
    "encoder.layers.{}.mlp.3": "blocks.{}.mlp.fc2",
    "encoder.layers.{}.mlp.linear_1": "blocks.{}.mlp.fc1",
    "encoder.layers.{}.mlp.linear_2": "blocks.{}.mlp.fc2",
}


def timm_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """An image ViT's weights under timm's names and in its layouts; names that are no other program's are kept.

    Sources: AugReg's and the first ViT's ``.npz`` (flax names with ``/``), ``ViTForImageClassification`` and
    ``ViTModel`` of transformers, ``VisionTransformer`` of torchvision. DeiT, MAE and DINO have timm's names.

    Raises:
        ValueError: of such a source, a parameter has no place.
    """
    if any("/encoderblock_" in key for key in state_dict):
        renamed = rename_by(state_dict, _flax_name, REFUSAL)
        return _fused({name: _from_flax(name, value) for name, value in renamed.items()})
    if any("embeddings.patch_embeddings." in key for key in state_dict):
        return _fused(rename_by(state_dict, _hugging_face_name, REFUSAL))
    if "conv_proj.weight" in state_dict:
        return rename_by(state_dict, _torchvision_name, REFUSAL)
    return dict(state_dict)


def _flax_name(key: str) -> str | None:
    if key.startswith(_HEAD):
        return key.replace("/kernel", ".weight").replace("/", ".")
    if key in _FLAX:
        return _FLAX[key]
    stem, _, leaf = key.rpartition("/")
    leaf = LEAVES.get(leaf, "")
    layer = re.fullmatch(r"Transformer/encoderblock_(\d+)/(.+?)(?:/(query|key|value|out))?", stem)
    part = _FLAX.get(layer[2] if layer else stem)
    if not leaf or part is None:
        return None
    if not layer:
        return f"{part}.{leaf}"
    projection = {None: "", "out": ".proj"}.get(layer[3], f".{layer[3]}")
    return f"blocks.{layer[1]}.{part}{projection}.{leaf}"


def _hugging_face_name(key: str) -> str | None:
    return new_name(current_name(key.removeprefix("vit.")), _HUGGING_FACE)


def _torchvision_name(key: str) -> str | None:
    return new_name(key.replace("encoder_layer_", ""), _TORCHVISION)


def _from_flax(name: str, value: Tensor) -> Tensor:
    """From flax's layout to torch's, channels of pictures first."""
    if name == "patch_embed.proj.weight" and value.ndim == 4:
        return value.permute(3, 2, 0, 1).contiguous()
    return torch_layout(name, value)


def _fused(renamed: dict[str, Tensor]) -> dict[str, Tensor]:
    fuse(renamed, ("query", "key", "value"))
    return renamed
