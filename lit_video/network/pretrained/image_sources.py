"""Image ViTs under timm's names: of AugReg (JAX), Hugging Face's transformers and torchvision."""

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

_HEAD = ("head", "pre_logits")
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
# transformers' names, without vit. -> timm's; those of layers by their ends, of version 5 and older
_HUGGING_FACE = {
    "embeddings.cls_token": "cls_token",
    "embeddings.position_embeddings": "pos_embed",
    "embeddings.patch_embeddings.projection": "patch_embed.proj",
    "layernorm": "norm",
    "classifier": "head",
    "pooler.dense": "pre_logits.fc",
    "layernorm_before": "norm1",
    "layernorm_after": "norm2",
    "attention.attention.query": "attn.query",
    "attention.attention.key": "attn.key",
    "attention.attention.value": "attn.value",
    "attention.q_proj": "attn.query",
    "attention.k_proj": "attn.key",
    "attention.v_proj": "attn.value",
    "attention.output.dense": "attn.proj",
    "attention.o_proj": "attn.proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
    "mlp.fc1": "mlp.fc1",
    "mlp.fc2": "mlp.fc2",
}
_TORCHVISION = {
    "class_token": "cls_token",
    "conv_proj": "patch_embed.proj",
    "encoder.pos_embedding": "pos_embed",
    "encoder.ln": "norm",
    "heads.head": "head",
    "heads.pre_logits": "pre_logits.fc",
    "ln_1": "norm1",
    "ln_2": "norm2",
    "self_attention.in_proj": "attn.qkv",
    "self_attention.out_proj": "attn.proj",
    "mlp.0": "mlp.fc1",
    "mlp.3": "mlp.fc2",
    "mlp.linear_1": "mlp.fc1",
    "mlp.linear_2": "mlp.fc2",
}


def timm_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """An image ViT's weights under timm's names and in its layouts; names that are no other program's are kept.

    Sources: AugReg's and the first ViT's ``.npz`` (flax names with ``/``), ``ViTForImageClassification`` and
    ``ViTModel`` of transformers, ``VisionTransformer`` of torchvision. DeiT, MAE and DINO have timm's names.

    Raises:
        ValueError: of such a source, a parameter has no place.
    """
    if any("/encoderblock_" in key for key in state_dict):
        return _fused({name: _from_flax(name, value) for name, value in _renamed(state_dict, _flax_name).items()})
    if any("embeddings.patch_embeddings." in key for key in state_dict):
        return _fused(_renamed(state_dict, _hugging_face_name))
    if "conv_proj.weight" in state_dict:
        return _renamed(state_dict, _torchvision_name)
    return dict(state_dict)


def _renamed(state_dict: Mapping[str, Tensor], name_of: Callable[[str], str | None]) -> dict[str, Tensor]:
    names = {key: name_of(key) for key in state_dict}
    unknown = sorted(key for key, name in names.items() if name is None)
    if unknown:
        raise ValueError(f"the image weights have no place for {', '.join(unknown)}")
    return {name: state_dict[key] for key, name in names.items() if name is not None}


def _flax_name(key: str) -> str | None:
    if key.startswith(_HEAD):
        return key.replace("/kernel", ".weight").replace("/", ".")
    if key in _FLAX:
        return _FLAX[key]
    stem, _, leaf = key.rpartition("/")
    leaf = {"kernel": "weight", "scale": "weight", "bias": "bias"}.get(leaf, "")
    layer = re.fullmatch(r"Transformer/encoderblock_(\d+)/(.+?)(?:/(query|key|value|out))?", stem)
    part = _FLAX.get(layer[2] if layer else stem)
    if not leaf or part is None:
        return None
    if not layer:
        return f"{part}.{leaf}"
    projection = {None: "", "out": ".proj"}.get(layer[3], f".{layer[3]}")
    return f"blocks.{layer[1]}.{part}{projection}.{leaf}"


def _hugging_face_name(key: str) -> str | None:
    key = key.removeprefix("vit.")
    layer = re.fullmatch(r"(?:encoder\.layer|layers)\.(\d+)\.(.+)\.(weight|bias)", key)
    if layer:
        part = _HUGGING_FACE.get(layer[2])
        return part and f"blocks.{layer[1]}.{part}.{layer[3]}"
    return _leaf(key, _HUGGING_FACE)


def _torchvision_name(key: str) -> str | None:
    layer = re.fullmatch(r"encoder\.layers\.encoder_layer_(\d+)\.(.+)[._](weight|bias)", key)
    if layer:
        part = _TORCHVISION.get(layer[2])
        return part and f"blocks.{layer[1]}.{part}.{layer[3]}"
    return _leaf(key, _TORCHVISION)


def _leaf(key: str, names: Mapping[str, str]) -> str | None:
    stem, _, leaf = key.rpartition(".")
    return names.get(key) or (f"{names[stem]}.{leaf}" if stem in names else None)


def _from_flax(name: str, value: Tensor) -> Tensor:
    """From flax's layout to torch's: (in, out) to (out, in), heads merged, channels of pictures first."""
    if name == "patch_embed.proj.weight" and value.ndim == 4:
        return value.permute(3, 2, 0, 1).contiguous()
    if re.search(r"\.(query|key|value)\.", name):
        value = value.flatten(-2)
    elif name.endswith(".proj.weight"):
        value = value.flatten(0, 1)
    return value.T.contiguous() if name.endswith(".weight") and value.ndim == 2 else value


def _fused(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Query, key and value as one projection."""
    for key in [key for key in tensors if ".attn.query." in key]:
        names = [key.replace(".query.", f".{part}.") for part in ("query", "key", "value")]
        if missing := [name for name in names if name not in tensors]:
            raise ValueError(f"the image weights have no {missing[0]}")
        tensors[key.replace(".query.", ".qkv.")] = torch.cat([tensors.pop(name) for name in names])
    return tensors
