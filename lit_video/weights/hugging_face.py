"""TimeSformer and ViViT of Hugging Face's transformers: names in both directions, configurations and classes."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from einops import rearrange
from torch import Tensor, nn

from lit_video.attention import Attention, Divided, Joint, Scheme, Space
from lit_video.network.block import MLP, Block
from lit_video.network.transformer import VideoTransformer, clip_token, mean_frame_token
from lit_video.weights.mapping import fuse, hugging_face_layer, join_tubelets, new_name, rename, rename_by
from lit_video.weights.parts import in_modules, matching, respelled, without

_LAYER = "timesformer.encoder.layer.{}"
HF_TIMESFORMER = hugging_face_layer(_LAYER) | {
    "timesformer.embeddings.cls_token": "embed.cls_token",
    "timesformer.embeddings.position_embeddings": "embed.pos_embed",
    "timesformer.embeddings.time_embeddings": "embed.temp_embed",
    "timesformer.embeddings.patch_embeddings.projection": "embed.patches.proj",
    f"{_LAYER}.attention.attention.qkv": "blocks.{}.scheme.attn.qkv",
    f"{_LAYER}.temporal_layernorm": "blocks.{}.scheme.time_attn.norm",
    f"{_LAYER}.temporal_attention.attention.qkv": "blocks.{}.scheme.time_attn.qkv",
    f"{_LAYER}.temporal_attention.output.dense": "blocks.{}.scheme.time_attn.proj",
    f"{_LAYER}.temporal_dense": "blocks.{}.scheme.time_fc",
    "timesformer.layernorm": "norm",
    "classifier": "aggregate.head",
}
HF_VIVIT = {
    "vivit.embeddings.cls_token": "embed.cls_token",
    "vivit.embeddings.position_embeddings": "embed.pos_embed",
    "vivit.embeddings.patch_embeddings.projection": "embed.patches.proj",
    "vivit.layers.{}.layernorm_before": "blocks.{}.scheme.attn.norm",
    "vivit.layers.{}.attention.q_proj": "blocks.{}.scheme.attn.q",
    "vivit.layers.{}.attention.k_proj": "blocks.{}.scheme.attn.k",
    "vivit.layers.{}.attention.v_proj": "blocks.{}.scheme.attn.v",
    "vivit.layers.{}.attention.o_proj": "blocks.{}.scheme.attn.proj",
    "vivit.layers.{}.layernorm_after": "blocks.{}.mlp.norm",
    "vivit.layers.{}.mlp.fc1": "blocks.{}.mlp.fc1",
    "vivit.layers.{}.mlp.fc2": "blocks.{}.mlp.fc2",
    "vivit.layernorm": "norm",
    "classifier": "aggregate.head",
}
# older names in files on the hub; transformers 5 renames them on loading
_OLDER = "vivit.encoder.layer.{}"
OLDER_VIVIT = hugging_face_layer(_OLDER) | {
    f"{_OLDER}.attention.attention.{name}": f"blocks.{{}}.scheme.attn.{name[0]}" for name in ("query", "key", "value")
}


def hf_timesformer_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename ``TimesformerForVideoClassification``, or ``TimesformerModel`` without a classifier, to our names."""
    if "embeddings.time_embeddings" in state_dict:
        state_dict = respelled(state_dict, "^", "timesformer.")
    return rename(state_dict, HF_TIMESFORMER)


def hf_vivit_names(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename ``VivitForVideoClassification`` (model 1 with a class token), or ``VivitModel``, to our names."""
    if "embeddings.cls_token" in state_dict:
        state_dict = respelled(without(state_dict, r"pooler\."), "^", "vivit.")
    renamed = rename(state_dict, HF_VIVIT | OLDER_VIVIT)
    fuse(renamed, ("q", "k", "v"))
    join_tubelets(renamed)
    return renamed


def export_hf_timesformer(network: VideoTransformer) -> dict[str, Tensor]:
    """Return our TimeSformer (space, joint, divided) under the names of ``TimesformerForVideoClassification``."""
    target = "TimesformerForVideoClassification"
    exported = _exported(network.state_dict(), HF_TIMESFORMER, target)

    if any(in_modules(network, Divided, "cls_in_time")):
        raise ValueError(f"{target} has no class token in time (cls_in_time)")
    _refuse_schemes(network, (Joint, Divided, Space), target)
    if network.embed.pos_embed is None or (network.embed.temp_embed is None and network.readout is clip_token):
        raise ValueError(f"{target} has positions in space and time, which this network lacks")
    return exported


def export_hf_vivit(network: VideoTransformer) -> dict[str, Tensor]:
    """Return our ViViT model 1 with a class token under the names of ``VivitForVideoClassification``."""
    target = "VivitForVideoClassification"
    weights = network.state_dict()
    for key in matching(weights, r".*\.attn\.qkv\."):
        for name, part in zip("qkv", weights.pop(key).chunk(3), strict=True):
            weights[key.replace(".qkv.", f".{name}.")] = part.contiguous()

    kernel = weights["embed.patches.proj.weight"]
    tubelet_size = network.embed.patches.tubelet_size
    kernel = rearrange(kernel, "d (c k) height width -> d c k height width", k=tubelet_size)
    weights["embed.patches.proj.weight"] = kernel.contiguous()

    exported = _exported(weights, HF_VIVIT, target)
    _refuse_schemes(network, (Joint,), target)
    if network.embed.patches.sampled_frames is not None:
        raise ValueError(f"{target} has no place for uniform frame sampling")
    return exported


def _refuse_schemes(network: VideoTransformer, schemes: Collection[type[Scheme]], target: str) -> None:
    """Raise a ValueError if a network has other schemes, no class token, or parts of the user's own."""
    if network.parts:
        raise ValueError(f"{target} has no place for {', '.join(network.parts)} of your own")

    schemes_of_network = {type(block.scheme) for block in network.blocks if isinstance(block, Block)}
    if network.readout not in (clip_token, mean_frame_token) or not schemes_of_network <= set(schemes):
        kinds = ", ".join(kind.__name__ for kind in schemes)
        raise ValueError(f"{target} has attention ({kinds.lower()}) with a class token, which this network lacks")


def _exported(weights: Mapping[str, Tensor], names: Mapping[str, str], target: str) -> dict[str, Tensor]:
    """Rename weights from our names to those of a class of transformers."""
    back = {name: key for key, name in names.items()}
    return rename_by(weights, partial(new_name, names=back), f"{target} has no place for")


HIDDEN_ACT = {"none": "gelu", "tanh": "gelu_fast", "quick": "quick_gelu"}
_GELUS = {"gelu": "none", "gelu_python": "none", "quick_gelu": "quick"}
_GELUS |= dict.fromkeys(("gelu_fast", "gelu_new", "gelu_pytorch_tanh"), "tanh")


def gelus_of(network: nn.Module) -> set[str]:
    """Return the kinds of GELU in a network's MLPs, as keys of ``HIDDEN_ACT``."""
    return {getattr(act, "approximate", "quick") for act in in_modules(network, MLP, "act")}


def check_config(config: Mapping[str, Any], network: nn.Module) -> None:
    """Refuse a network whose GELU, epsilon or number of heads differs from the configuration."""
    activation = config.get("hidden_act")
    gelus = gelus_of(network)
    if activation is not None and gelus and gelus != {_GELUS.get(activation)}:
        raise ValueError(f"config.json: hidden_act is {activation}, this network computes {HIDDEN_ACT[gelus.pop()]}")

    epsilon = config.get("layer_norm_eps")
    slack = 1e-6 if config.get("model_type") == "videomae" else 0.0  # 1e-12 in the file, 1e-6 in its authors' code
    for epsilon_here in in_modules(network, nn.LayerNorm, "eps"):
        if epsilon is not None and not math.isclose(epsilon, epsilon_here, rel_tol=1e-3, abs_tol=slack):
            raise ValueError(f"config.json: layer_norm_eps is {epsilon:g}, this network has {epsilon_here:g}")

    num_heads = config.get("num_attention_heads")
    for heads_here in in_modules(network, Attention, "num_heads"):
        if num_heads not in (None, heads_here):
            raise ValueError(f"config.json: num_attention_heads is {num_heads}, here {heads_here}; set --model.size")


def check_labels(labels: Mapping[str, int], class_names: Sequence[str], whole: bool = False) -> None:
    """Refuse weights that number the data's classes differently, or, if ``whole``, lack one of them."""
    # letters and digits of the names are compared, unless two of the weights' names are then equal
    distinct = {_letters(name) for name in labels}
    spelled = _letters if len(distinct) == len(labels) else str

    numbers = {spelled(name): number for name, number in labels.items()}
    for number, name in enumerate(class_names):
        of_weights = numbers.get(spelled(name), "unknown" if whole else number)
        if of_weights != number:
            raise ValueError(f"{name!r} is class {of_weights} of the weights and class {number} of the data")


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
