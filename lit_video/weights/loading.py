"""Released state dicts: as networks of their own, and into networks that a configuration has built."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from lit_video.attention import Heads
from lit_video.network.aggregation import TemporalEncoder
from lit_video.network.positions import resize_time
from lit_video.network.transformer import VideoTransformer
from lit_video.weights.hugging_face import load_hf_timesformer, load_hf_vivit, load_timesformer
from lit_video.weights.mapping import refuse_other_names, refuse_other_shapes
from lit_video.weights.scenic import load_scenic_vivit
from lit_video.weights.unwrapping import without_prefixes
from lit_video.weights.xvit import load_xvit

# source -> loader, and a piece of a key that only this source has
SOURCES: dict[str, tuple[Callable[..., VideoTransformer], str]] = {
    "xvit": (load_xvit, "base_model."),
    "hf-timesformer": (load_hf_timesformer, "timesformer.embeddings."),
    "hf-vivit": (load_hf_vivit, "vivit.embeddings."),
    "scenic-vivit": (load_scenic_vivit, "/encoderblock_"),
    "timesformer": (load_timesformer, "temporal_norm1."),
}
# transformers' names of the model inside the classifier, by a name that only this one has
_BARE = {"embeddings.time_embeddings": "timesformer.", "embeddings.patch_embeddings.projection.weight": "vivit."}
_STEM = "patch_embed.proj.weight"  # timm's and the authors'


def load(
    source: str, state_dict: Mapping[str, Tensor], *, heads: int, image_size: int | tuple[int, int], **options: Any
) -> VideoTransformer:
    """Build the network that a released state dict belongs to, in eval mode and in the weights' dtype.

    Sources: ``xvit`` and ``timesformer`` (the authors' releases), ``hf-timesformer`` and ``hf-vivit`` (transformers,
    current and older names), ``scenic-vivit`` (the authors' release, flax names with ``/``).

    Args:
        source: whose parameter names these are.
        state_dict: the weights; prefixes of wrappers (``module.``, ``model.``) are taken off.
        heads: number of attention heads, which no shape shows.
        image_size: side, or (height, width), in pixels that the network will be given. Stored positions are taken to be
            a square's if their number is one, else this grid's, and resized by the authors' own rule.
        **options: what else shapes do not show: see the ``load_...`` function of the source's file.

    Returns:
        A network from clips ``(b, 3, t, height, width)``, float and normalised, to logits ``(b, classes)``.

    Raises:
        ValueError: unknown source, or keys that are missing, unknown or of an impossible shape.
    """
    if source not in SOURCES:
        raise ValueError(f"source {source!r} is not known, expected one of {', '.join(sorted(SOURCES))}")
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    return SOURCES[source][0](without_prefixes(state_dict), heads=heads, image_size=(height, width), **options)


def source_of(state_dict: Mapping[str, Tensor]) -> str | None:
    """The source whose names a state dict has; ``None`` if it is none of them."""
    return next((source for source, (_, mark) in SOURCES.items() if any(mark in key for key in state_dict)), None)


def detect(state_dict: Mapping[str, Tensor]) -> str:
    """The source whose names a state dict has.

    Raises:
        ValueError: no source's.
    """
    if source := source_of(state_dict):
        return source
    first = next(iter(state_dict), None)
    hint = "; an image model's belong in model.image_weights" if any(_STEM in key for key in state_dict) else ""
    raise ValueError(f"the names are none of {', '.join(sorted(SOURCES))}; the first is {first}{hint}")


def with_classifier(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights, with a classifier of one class, all zeros, where they have none: no loader then misses it."""
    tensors = _classifying(state_dict)
    weight, bias, width = _classifier(tensors)
    if not weight or weight in tensors:
        return tensors
    shape = (width, 1) if weight.endswith("kernel") else (1, width)
    like = next(iter(tensors.values()))
    return tensors | {weight: like.new_zeros(shape), bias: like.new_zeros(1)}


def _classifying(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``TimesformerModel`` and ``VivitModel`` under their names in the classifying model."""
    prefix = next((prefix for name, prefix in _BARE.items() if name in state_dict), "")
    if prefix == "vivit." and state_dict["embeddings.patch_embeddings.projection.weight"].ndim != 5:
        prefix = ""  # of pictures
    return {f"{prefix}{key}": value for key, value in state_dict.items() if not key.startswith("pooler.") or not prefix}


def _classifier(tensors: Mapping[str, Tensor]) -> tuple[str, str, int]:
    """Names of the classifier's weight and bias, and the width that it reads; empty names of other sources."""
    if any("/encoderblock_" in key for key in tensors):
        return "output_projection/kernel", "output_projection/bias", tensors["embedding/bias"].shape[0]
    if (hidden := tensors.get("consensus.mlp_head.1.bias")) is not None:
        return "consensus.mlp_head.4.weight", "consensus.mlp_head.4.bias", hidden.shape[0]
    for key, value in tensors.items():
        if key.endswith(f"base_model.{_STEM}"):
            return "new_fc.weight", "new_fc.bias", value.shape[0]
        if key.endswith(_STEM):
            prefix = key.removesuffix(_STEM)
            return f"{prefix}head.weight", f"{prefix}head.bias", value.shape[0]
        if key.endswith("embeddings.patch_embeddings.projection.weight"):
            return "classifier.weight", "classifier.bias", value.shape[0]
    return "", "", 0


def load_pretrained(network: nn.Module, state_dict: Mapping[str, Tensor], fresh_head: bool = False) -> str:
    """Load a released checkpoint, strictly; positions of another grid or length are resized by their authors' rule.

    Args:
        network: changed in place; one that is no :class:`VideoTransformer` takes its own names only.
        state_dict: the weights, under the names of any source of :func:`load`, or the
            network's own.
        fresh_head: leave out a classifier of another number of classes instead of refusing it, and do without one.

    Returns:
        The parameters that were left out, with commas.

    Raises:
        ValueError: names or shapes do not fit; nothing has been changed then.
    """
    ours = network.state_dict()
    theirs = {key.removeprefix("network."): value for key, value in state_dict.items()}
    if isinstance(network, VideoTransformer) and "embed.patches.proj.weight" not in theirs:
        theirs = _translated(network, with_classifier(state_dict) if fresh_head else state_dict)
    other = {key for key in ours if _is_classifier(key) and (key not in theirs or theirs[key].shape != ours[key].shape)}
    left_out = other if fresh_head else set()
    ours = {key: value for key, value in ours.items() if key not in left_out}
    theirs = {key: value for key, value in theirs.items() if key not in left_out}
    refuse_other_names(ours, theirs)
    refuse_other_shapes(ours, theirs)
    network.load_state_dict(theirs, strict=False)
    return ", ".join(sorted(left_out))


@torch.no_grad()
def _translated(network: VideoTransformer, state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights under our names, positions as the source's own network would use them in clips of this grid."""
    source, grid, temporal = _source(network, state_dict), network.embed.grid, network.embed.temp_embed
    theirs = source.state_dict()
    if (table := source.embed.positions(grid)) is not None and network.embed.pos_embed is not None:
        theirs["embed.pos_embed"] = table
    if source.embed.temp_embed is not None and temporal is not None:
        theirs["embed.temp_embed"] = resize_time(source.embed.temp_embed, temporal.shape[1], source.embed.resizing.time)
    if isinstance(source.aggregate, TemporalEncoder):
        theirs["aggregate.pos_embed"] = source.aggregate.positions(grid.t)
    return theirs


def _source(network: VideoTransformer, state_dict: Mapping[str, Tensor]) -> VideoTransformer:
    """The network that the weights belong to.

    ViViT's positions do not say their grid: as many tubelets as here if their number allows it, else as large an image.
    """
    grid, patches = network.embed.grid, network.embed.patches
    heads = next(module.heads for module in network.modules() if isinstance(module, Heads))
    name, size = detect(state_dict), (grid.h * patches.patch, grid.w * patches.patch)
    if name in ("hf-vivit", "scenic-vivit"):
        with suppress(ValueError):
            return load(name, state_dict, heads=heads, image_size=size, frames=grid.t * patches.tubelet)
    return load(name, state_dict, heads=heads, image_size=size)


def _is_classifier(key: str) -> bool:
    """The last linear layer: ``aggregate.head``, X-ViT's after a hidden one, PyTorchVideo's ``blocks.5.proj``."""
    return re.fullmatch(r"(aggregate\.head(\.4)?|blocks\.\d+\.proj)\.(weight|bias)", key) is not None
