"""Loading of released state dicts into networks built from a configuration."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor, nn

from lit_video.attention import Attention, Grid
from lit_video.network.aggregation import (
    AttentiveProbe,
    CrossTemporalAttention,
    TemporalAttention,
    TemporalEncoder,
    WaveProbe,
)
from lit_video.network.embedding import Embedding, JointEmbedding
from lit_video.network.positions import resize_time, sinusoids
from lit_video.network.transformer import VideoTransformer, mean_frame_token
from lit_video.weights import authors
from lit_video.weights.hugging_face import hf_timesformer_names, hf_vivit_names
from lit_video.weights.mapping import refuse_other_names, refuse_other_shapes, stored_grid, take
from lit_video.weights.parts import in_modules, matching, respelled, without
from lit_video.weights.reading import StoredWeights, without_prefixes


@dataclass(frozen=True)
class Source:
    """Program that wrote a state dict."""

    mark: str  # regular expression of a key that is in this program's files alone
    names: Callable[[Mapping[str, Tensor]], dict[str, Tensor]]  # converts its names and layouts to ours
    family: str  # name of the class in lit_video.modules


CLASSIFIER = r"(aggregate\.head(\.4)?|blocks\.\d+\.proj)\.(weight|bias)$"  # blocks.5.proj: PyTorchVideo
SourceName = Literal["videomae", "xvit", "hf-timesformer", "hf-vivit", "scenic-vivit", "timesformer"]
SOURCES: dict[str, Source] = {
    "videomae": Source(authors.MARK, authors.videomae_names, "ViViT"),
    "xvit": Source(r"base_model\.", authors.xvit_names, "XViT"),
    "hf-timesformer": Source(r"timesformer\.|embeddings\.time_embeddings", hf_timesformer_names, "TimeSformer"),
    "hf-vivit": Source(r"(vivit\.)?embeddings\.patch_embeddings\.", hf_vivit_names, "ViViT"),
    "scenic-vivit": Source(r".*/encoderblock_", authors.scenic_names, "ViViT"),
    "timesformer": Source(r".*temporal_norm1\.|(.*\.)?time_embed$", authors.timesformer_names, "TimeSformer"),
}


def source_of(stored: StoredWeights) -> str | None:
    """Return the source given by the user or recognised by parameter names; ``None`` if unknown."""
    if stored.named:
        return stored.named
    names = without_prefixes(stored.tensors)
    return next((name for name, source in SOURCES.items() if matching(names, source.mark)), None)


def load_pretrained(
    network: nn.Module,
    state_dict: Mapping[str, Tensor],
    fresh_head: bool = False,
    *,
    grid: Grid | None = None,
    source: str | None = None,
) -> str:
    """Load a checkpoint strictly; return the names of the parameters left out, separated by commas.

    Positions of another grid or length are resized by the family's rule, see
    :class:`~lit_video.network.positions.Resizing`.

    Args:
        network: changed in place; a network other than a :class:`VideoTransformer` takes weights of its own names only.
        state_dict: the weights, under the names of one of ``SOURCES``, or the network's own.
        fresh_head: keep the network's classifier if the checkpoint has none, or has one with another number of classes.
        grid: patch grid of the stored positions. ``None`` tries the network's grid, then a square; a square comes first
            for sources whose authors' code supports only squares.
        source: one of ``SOURCES``; ``None`` to recognise it by the names.

    Raises:
        ValueError: names or shapes do not fit; the network is unchanged.
    """
    expected = network.state_dict()
    weights = respelled(state_dict, r"^network\.", "")
    if isinstance(network, VideoTransformer) and "embed.patches.proj.weight" not in weights:
        weights, source = _translated(network, without_prefixes(state_dict), source)
        if source == "videomae" and "embed.pos_embed" not in weights:  # VideoMAE computes its positions
            grid = network.embed.grid
            weights["embed.pos_embed"] = sinusoids(prod(grid), network.embed.embed_dim)

    left_out: list[str] = []
    if fresh_head:
        fresh = [CLASSIFIER]
        has_probe = isinstance(getattr(network, "aggregate", None), AttentiveProbe | WaveProbe)
        names = [set(matching(state, r"aggregate\.")) for state in (weights, expected)]
        if has_probe and names[0] != names[1]:  # the checkpoint's classifier does not fit the probe
            weights = without(weights, r"aggregate\.")
            fresh.append(r"aggregate\.")
        if matching(state_dict, authors.PRETRAINING):  # fine-tuning does not take a masked autoencoder's last norm
            fresh.append(r"norm\.")
        for key in matching(expected, "|".join(fresh)):
            if key not in weights or weights[key].shape != expected[key].shape:
                left_out.append(key)
                weights.pop(key, None)
                del expected[key]

    _refuse_other_temporal_attention(network, weights)
    refuse_other_names(expected, weights)
    if isinstance(network, VideoTransformer):
        weights |= _positions(network, weights, grid, square=source not in (None, "hf-vivit"))
    refuse_other_shapes(expected, weights)

    network.load_state_dict(weights, strict=False)
    return ", ".join(sorted(left_out))


# each kind of X-ViT's temporal attention: its class, and the token that the other lacks
_TEMPORAL_ATTENTION: dict[str, tuple[type[nn.Module], str]] = {
    "self": (TemporalAttention, "aggregate.cls_token"),
    "cross": (CrossTemporalAttention, "aggregate.final_token"),
}


def _refuse_other_temporal_attention(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Refuse weights of X-ViT's other kind of temporal attention, of which some parameters have the same names."""
    aggregate = getattr(network, "aggregate", None)
    for kind, other in (("self", "cross"), ("cross", "self")):
        _, token = _TEMPORAL_ATTENTION[other]
        if isinstance(aggregate, _TEMPORAL_ATTENTION[kind][0]) and token in weights:
            raise ValueError(
                f"its temporal attention is {other}, the network's is {kind}: set --model.ta_attention {other}"
            )


def _translated(
    network: VideoTransformer, state_dict: Mapping[str, Tensor], source: str | None
) -> tuple[dict[str, Tensor], str]:
    """Return the weights under our names, and their source."""
    source = source or source_of(StoredWeights(dict(state_dict)))
    of_image = matching(state_dict, r".*patch_embed\.proj\.")
    if not source and of_image and network.readout is mean_frame_token:
        source = "timesformer"  # its names are those of an image model, because it attends in space only
    if not source:
        sources = ", ".join(sorted(SOURCES))
        first = next(iter(state_dict), None)
        hint = "an image model's weights belong in model.image_weights"
        raise ValueError(f"the names are none of {sources}; the first is {first}; {hint}")

    weights = SOURCES[source].names(state_dict)
    joint = source in ("hf-vivit", "videomae")
    if source == "scenic-vivit":
        authors.refuse_other_heads(state_dict, in_modules(network, Attention, "num_heads")[0])
        joint = not matching(state_dict, "SpatialTransformer/")  # only ViViT's model 2 has separate positions
    if joint != isinstance(network.embed, JointEmbedding):
        kinds = ("one frame", "space and time")
        raise ValueError(f"its table of positions is of {kinds[joint]}, the network's is of {kinds[not joint]}")
    return weights, source


@torch.no_grad()
def _positions(
    network: VideoTransformer, weights: Mapping[str, Tensor], grid: Grid | None, *, square: bool
) -> dict[str, Tensor]:
    """Return the stored tables of positions, resized to the network's grid."""
    embed = network.embed
    tables: dict[str, Tensor] = {}
    if embed.pos_embed is not None:
        table = take(weights, "embed.pos_embed", 3).to(embed.pos_embed.dtype)
        cells = table.shape[1] - embed.slots
        first = int(not isinstance(embed, JointEmbedding))  # separate positions in space have no axis of time
        if grid is None or cells != prod(grid[first:]):
            grid = _guessed_grid(cells, embed, square)
        tables["embed.pos_embed"] = embed.resized(table, grid, embed.grid, resizing=embed.stored)

        fixed = sinusoids(table.shape[1], table.shape[2]).to(table)
        if grid != embed.grid and torch.allclose(table, fixed, atol=1e-2):  # VideoMAE's fixed positions
            tables["embed.pos_embed"] = sinusoids(prod(embed.grid), embed.embed_dim)

    if embed.temp_embed is not None:
        table = take(weights, "embed.temp_embed", 3).to(embed.temp_embed.dtype)
        num_positions = embed.temp_embed.shape[1]
        way = embed.stored.time
        if way == "repeat" and num_positions % table.shape[1]:
            way = "linear"
        tables["embed.temp_embed"] = resize_time(table, num_positions, way)

    if isinstance(network.aggregate, TemporalEncoder):
        table = take(weights, "aggregate.pos_embed", 3)
        tables["aggregate.pos_embed"] = network.aggregate.resized(table, embed.grid.t)
    return tables


def _guessed_grid(cells: int, embed: Embedding, square: bool) -> Grid:
    """Guess the grid of stored positions: with the network's number of time steps, else with its rows and columns."""
    here = embed.grid
    if not isinstance(embed, JointEmbedding):
        return Grid(here.t, *stored_grid(cells, here, square))

    steps = [here.t]
    space = here.h * here.w
    if cells % space == 0:
        steps.append(cells // space)
    for t in steps:
        with suppress(ValueError):
            if t and cells % t == 0:
                height, width = stored_grid(cells // t, here, square)
                return Grid(t, height, width)
    raise ValueError(f"{cells} stored positions are neither a multiple of {here.h} x {here.w} nor {here.t} squares")
