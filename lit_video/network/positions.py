"""Learned position tables, and their resizing to another grid."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor

from lit_video.attention import Grid
from lit_video.utils.arguments import Positive, check_fields

PositionKind = Literal["none", "space", "space-time"]


@dataclass(frozen=True)
class Resizing:
    """Resizing of positions to a clip of another size or length.

    Source: X-ViT's release is ``bicubic``, and ``repeat`` if the clip's length is a multiple of the table's length;
    TimeSformer's network is ``nearest``.
    Unlike TimeSformer's release, which loads weights by the nearest of the flattened table, and ViViT's, which resizes
    bilinearly with aligned corners.
    """

    space: Literal["bicubic", "nearest"] = "bicubic"
    time: Literal["linear", "nearest", "repeat"] = "linear"

    def __post_init__(self) -> None:
        check_fields(self)


NEAREST = Resizing("nearest", "nearest")


@dataclass(frozen=True)
class Positions:
    """Learned positions that a network adds to its tokens."""

    kind: PositionKind = "space-time"  # spatial positions include one for the class token
    # standard deviation of the initial positions. None: 0.02 in space and 0 in time, so that training starts from an
    # image model; such small positions are barely learned from scratch on little data
    std: Positive | None = None
    resizing: Resizing = field(default_factory=Resizing)  # for clips of another size or length
    _: KW_ONLY
    stored: Resizing = field(default_factory=Resizing)  # for positions of a checkpoint with another grid

    def __post_init__(self) -> None:
        check_fields(self)


def sinusoids(count: int, dim: int) -> Tensor:
    """Return ``(1, count, d)``; channel j of row i is the sine (j even) or cosine of i / 10000^(2 floor(j / 2) / d).

    Source: Vaswani et al., arXiv:1706.03762, section 3.5; i counts tubelets frame by frame, as in VideoMAE's code.
    """
    channels = torch.arange(dim, device="cpu")
    angles = torch.arange(count, device="cpu").double()[:, None] / 10000 ** (2 * (channels // 2).double() / dim)
    return torch.where(channels % 2 == 0, angles.sin(), angles.cos()).float()[None]


def resize_space(table: Tensor, source: tuple[int, int], target: tuple[int, int], *, mode: str = "bicubic") -> Tensor:
    """Resize positions ``(..., h * w, d)`` of grid ``source`` to grid ``target``: ``(..., h' * w', d)``."""
    if source == target:
        return table
    cells = rearrange(table, "r (h w) d -> r d h w", h=source[0])
    cells = F.interpolate(cells, size=target, mode=mode)
    return rearrange(cells, "r d h w -> r (h w) d")


def resize_time(table: Tensor, num_frames: int, mode: str = "linear") -> Tensor:
    """Resize ``r`` tables of positions ``(r, t, d)`` to a clip of ``num_frames``: ``(r, num_frames, d)``."""
    stored = table.shape[1]
    if isinstance(num_frames, int) and num_frames == stored:  # in torch.export the number of frames is a symbol
        return table
    if mode == "repeat":
        if num_frames % stored:
            raise ValueError(f"num_frames {num_frames} is no multiple of {stored}, the temporal positions' length")
        return repeat(table, "r t d -> r (k t) d", k=num_frames // stored)
    cells = rearrange(table, "r t d -> r d t")
    cells = F.interpolate(cells, size=num_frames, mode=mode)
    return rearrange(cells, "r d t -> r t d")


def resize_joint(table: Tensor, source: Grid, target: Grid, *, resizing: Resizing) -> Tensor:
    """Resize one table over space and time, ``(1, t * h * w, d)``, to another grid."""
    table = rearrange(table, "1 (t s) d -> t s d", t=source.t)
    table = resize_space(table, source[1:], target[1:], mode=resizing.space)
    table = resize_time(rearrange(table, "t s d -> s t d"), target.t, resizing.time)
    return rearrange(table, "s t d -> 1 (t s) d")
