"""X-ViT assembled: space-time mixing blocks, then temporal averaging or temporal attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn

from lit_video.attention import Mixing, MixingPlan, Space
from lit_video.network.aggregation import TemporalAttention, TemporalMean
from lit_video.network.block import MLP, Block
from lit_video.network.embedding import FrameEmbedding, PositionKind
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize, init_backbone

LayerChoice = Literal["all", "first_half", "second_half", "odd"]


def chosen_layers(choice: LayerChoice | Sequence[int], depth: int) -> frozenset[int]:
    """Indices (from 0) of the layers that mix, Table 2a of X-ViT.

    Raises:
        ValueError: an unknown choice, or an index that is no layer of a network of this depth.
    """
    if isinstance(choice, str):
        ranges = {
            "all": range(depth),
            "first_half": range(depth // 2),
            "second_half": range(depth // 2, depth),
            "odd": range(1, depth, 2),
        }
        if choice not in ranges:
            raise ValueError(f"layers is {choice!r}, expected {', '.join(ranges)} or a list of indices")
        return frozenset(ranges[choice])
    wrong = [i for i in choice if not 0 <= i < depth]
    if wrong:
        raise ValueError(f"layers lists {wrong}, the network has layers 0 to {depth - 1}")
    return frozenset(choice)


def xvit(
    size: ViTSize,
    classes: int,
    image_size: tuple[int, int] = (224, 224),
    patch: int = 16,
    frames: int = 8,
    plan: MixingPlan | None = None,
    layers: LayerChoice | Sequence[int] = "all",
    aggregate: nn.Module | None = None,
    positions: PositionKind = "space-time",
    drop_path: float = 0.0,
) -> VideoTransformer:
    """Build an X-ViT.

    Args:
        size: width, depth and heads.
        classes: number of classes.
        image_size: (height, width) in pixels.
        patch: side of a patch in pixels.
        frames: length of the temporal embedding.
        plan: what moves between frames; ``None`` for the paper's best setting.
        layers: the layers that mix; the others are spatial-only.
        aggregate: maps frame tokens ``(b, t, d)`` to logits; ``None`` for one layer of temporal attention.
        positions: positional embedding.
        drop_path: stochastic depth of the last layer, rising linearly from 0 in the first.
    """
    plan = plan or MixingPlan()
    mixing = chosen_layers(layers, size.depth)
    rates = torch.linspace(0, drop_path, size.depth, device="cpu").tolist()
    blocks = [
        Block(
            Mixing(size.width, size.heads, plan) if i in mixing else Space(size.width, size.heads),
            MLP(size.width, size.mlp_ratio),
            rate,
        ).apply(init_backbone)
        for i, rate in enumerate(rates)
    ]
    embed = FrameEmbedding(size.width, patch, image_size, frames, positions)
    aggregate = aggregate or TemporalAttention(size.width, classes, depth=1, heads=size.heads)
    return VideoTransformer(embed, blocks, aggregate, size.width)


def aggregation(
    size: ViTSize, classes: int, ta_layers: int, ta_heads: int | None = None, dropout: float = 0.5
) -> nn.Module:
    """X-ViT's Table 2b: 0 TA layers is temporal averaging, more is a temporal transformer of that depth."""
    if ta_layers < 0:
        raise ValueError(f"ta_layers is {ta_layers}, expected 0, 1, 2, ...")
    if ta_layers == 0:
        return TemporalMean(size.width, classes, dropout)
    return TemporalAttention(size.width, classes, ta_layers, ta_heads or size.heads, dropout=dropout)
