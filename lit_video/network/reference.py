"""Published checkpoints as networks of this package, strictly: every key is used, or named in the error."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from lit_video.attention import MixingPlan
from lit_video.attention.mixing import Target
from lit_video.network.aggregation import TemporalAttention, TemporalMean
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize
from lit_video.network.weights import backbone_key
from lit_video.network.xvit import xvit


def load(
    source: str, state_dict: Mapping[str, Tensor], *, heads: int, image_size: int | tuple[int, int], **options: Any
) -> VideoTransformer:
    """Build the network that a published state dict belongs to, in eval mode and in the weights' dtype.

    Args:
        source: whose parameter names these are: ``xvit`` (the authors' release, arXiv:2106.05968).
        state_dict: the weights.
        heads: number of attention heads, which no shape tells.
        image_size: side, or (height, width), in pixels that the network will be given.
        **options: what else shapes cannot tell; for ``xvit`` see :func:`load_xvit`.

    Returns:
        A network from clips ``(b, 3, t, height, width)``, float and normalised, to logits ``(b, classes)``.

    Raises:
        ValueError: unknown source, or keys that are missing, unknown or of an impossible shape.
    """
    if source != "xvit":
        raise ValueError(f"source {source!r} is not known, expected 'xvit'")
    size = (image_size, image_size) if isinstance(image_size, int) else (image_size[0], image_size[1])
    return load_xvit(state_dict, heads=heads, image_size=size, **options)


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
    renamed = _rename(state_dict)
    patch_weight = _take(renamed, "embed.proj.weight")
    width, patch = patch_weight.shape[0], patch_weight.shape[-1]
    hidden = _take(renamed, "blocks.0.mlp.fc1.weight").shape[0]
    depth = 1 + max(int(match[1]) for key in renamed if (match := re.match(r"blocks\.(\d+)\.", key)))
    classes = _take(renamed, "aggregate.head.4.weight" if _has_ta(state_dict) else "aggregate.head.weight").shape[0]
    if _has_ta(state_dict):
        ta_depth = len({key.split(".")[2] for key in renamed if key.startswith("aggregate.layers.")})
        ta_hidden = _take(renamed, "aggregate.head.1.weight").shape[0]
        aggregate: torch.nn.Module = TemporalAttention(width, classes, ta_depth, ta_heads or heads, ta_hidden)
    else:
        aggregate = TemporalMean(width, classes)
    network = xvit(
        ViTSize(width, depth, heads, hidden / width),
        classes,
        _stored_size(renamed, image_size, patch),
        patch,
        frames=_take(renamed, "embed.temp_embed").shape[1],
        plan=MixingPlan(
            # with less than one channel to move the release moves none
            window=1 if mixed and math.floor(ratio * width / 2 + 1e-6) else 0,
            ratio=ratio,
            mixed=tuple(mixed),
            scope="full",
            segment=segments,
        ),
        layers=range(depth) if layers is None else list(layers),
        aggregate=aggregate,
    )
    _fill(network, renamed)
    return network.to(patch_weight.dtype).eval()


def _rename(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The release's names -> ours; the classifier that temporal attention leaves unused is dropped."""
    ta = _has_ta(state_dict)
    renamed, unknown = {}, []
    for key, value in state_dict.items():
        if re.fullmatch(r"(new_fc|base_model\.head)\.(weight|bias)", key):
            if not ta:
                renamed["aggregate.head." + key.rsplit(".", 1)[1]] = value
            continue
        name = backbone_key(key.removeprefix("base_model.")) if key.startswith("base_model.") else _consensus_key(key)
        name = "embed.temp_embed" if key == "base_model.temp_embed" else name
        if name is None:
            unknown.append(key)
        else:
            renamed[name] = value
    if unknown:
        raise ValueError(f"unknown keys in the state dict: {', '.join(unknown)}")
    return renamed


def _consensus_key(key: str) -> str | None:
    if key == "consensus.cls_token":
        return "aggregate.cls_token"
    if match := re.fullmatch(r"consensus\.mlp_head\.([014])\.(weight|bias)", key):
        return f"aggregate.head.{match[1]}.{match[2]}"
    if match := re.match(r"consensus\.temporal_encoder\.(\d+)\.", key):
        ours = backbone_key(f"blocks.0.{key[match.end() :]}")
        return ours and f"aggregate.layers.{match[1]}." + ours.removeprefix("blocks.0.").removeprefix("scheme.")
    return None


def _has_ta(state_dict: Mapping[str, Tensor]) -> bool:
    return any(key.startswith("consensus.") for key in state_dict)


def _take(renamed: Mapping[str, Tensor], key: str) -> Tensor:
    if key not in renamed:
        raise ValueError(f"the state dict lacks what becomes {key}")
    return renamed[key]


def _stored_size(renamed: Mapping[str, Tensor], image_size: tuple[int, int], patch: int) -> tuple[int, int]:
    """Image size that the stored positions are for: the one asked for, else the square of their number."""
    cells = _take(renamed, "embed.pos_embed").shape[1] - 1
    if (image_size[0] // patch) * (image_size[1] // patch) == cells:
        return image_size
    side = round(cells**0.5)
    if side**2 != cells:
        raise ValueError(f"{cells} stored positions are neither those of {image_size} pixels nor a square")
    return (side * patch, side * patch)


def _fill(network: VideoTransformer, renamed: Mapping[str, Tensor]) -> None:
    expected = network.state_dict()
    missing, extra = sorted(expected.keys() - renamed.keys()), sorted(renamed.keys() - expected.keys())
    if missing or extra:
        raise ValueError(f"the state dict lacks {missing or 'nothing'}, and has no place for {extra or 'nothing'}")
    wrong = [key for key in expected if expected[key].shape != renamed[key].shape]
    if wrong:
        raise ValueError(f"shapes that do not fit: {', '.join(wrong)}")
    network.to(next(iter(renamed.values())).dtype).load_state_dict(dict(renamed))
