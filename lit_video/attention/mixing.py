"""X-ViT's space-time mixing attention."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

import torch
from einops import rearrange, reduce, repeat
from torch import Tensor

from lit_video.attention.in_place import shifted_in_place
from lit_video.attention.scheme import Attention, Grid, Scheme, has_hooks
from lit_video.utils.arguments import Count, Share, Whole, check_fields

Target = Literal["x", "key", "value", "query"]
Scope = Literal["per_head", "full"]
Summary = bool | Literal["own"]
Shift = Callable[[tuple[Target, ...], Tensor], Sequence[Tensor]]
QKV: tuple[Target, ...] = ("query", "key", "value")


@dataclass(frozen=True)
class MixingPlan:
    """Settings of the mixing: which channels of which tensors are read from other frames, and from which frames."""

    window: Whole = 1  # t_w: channels are read from frames up to this distance; 0 is spatial-only attention
    boundary: bool = False  # read only the two frames at distance ``window`` ("Bo." in Table 1)
    ratio: Share = 0.5  # rho in [0, 1], the share of channels that comes from other frames
    _: KW_ONLY
    mixed: tuple[Target, ...] = field(default=("key", "value"))  # tensors whose channels move; x is the normed input
    # per_head: a share of each head's channels moves (Eq. 9); full: a share of all channels (released code)
    scope: Scope = "per_head"
    # True: append summary tokens of all frames (section 3's text); own: only of this frame (section 3's complexity)
    summary: Summary = False
    num_summary_tokens: Count = 1  # R per frame, a square number; each is the mean over one of R equal cells
    summary_before_norm: bool = False  # average the tokens before the norm, as in the paper's text
    cls_in_summary: bool = False  # average the class token too, as in the paper's text; R = 1 only
    segment: Count | None = None  # frames per group; channels move within a group only. None: the whole clip
    causal: bool = False  # read earlier frames only: half as many frames, twice the channels of each

    def __post_init__(self) -> None:
        check_fields(self)
        tokens = self.num_summary_tokens
        if math.isqrt(tokens) ** 2 != tokens:
            raise ValueError(f"num_summary_tokens is {tokens}, expected a square number: 1, 4, 9, ...")
        if not self.summary and tokens > 1:
            raise ValueError("num_summary_tokens does not apply without summary")
        if self.cls_in_summary and tokens > 1:
            raise ValueError(f"cls_in_summary is true, num_summary_tokens is {tokens}: a class token lies in no cell")
        if self.causal and self.summary is True:
            raise ValueError("summary is true: the summary tokens of all frames are not causal; give own or false")
        if self.causal and self.segment:
            raise ValueError(f"segments is {self.segment}: causal mixing has no groups of frames")

    @property
    def offsets(self) -> tuple[int, ...]:
        """Frame offsets in channel order: +1, -1 (as released), then +2, -2, ...; causal: -1, -2, ..."""
        if self.window == 0 or self.ratio == 0 or not self.mixed:
            return ()

        first = self.window if self.boundary else 1
        offsets: list[int] = []
        for distance in range(first, self.window + 1):
            if not self.causal:
                offsets.append(distance)
            offsets.append(-distance)
        return tuple(offsets)

    def fold(self, channels: int) -> int:
        """Return the number of channels per offset, floor(ratio * channels / number of offsets)."""
        if not self.offsets:
            return 0

        fold = math.floor(self.ratio * channels / len(self.offsets) + 1e-6)
        if fold == 0:
            raise ValueError(
                f"window {self.window} at ratio {self.ratio} leaves no channel per offset: "
                f"{channels} channels for {len(self.offsets)} neighbouring frames"
            )
        return fold


def shift_channels(x: Tensor, offsets: Sequence[int], fold: int) -> Tensor:
    """Read ``fold`` channels of ``x (b, t, ..., c)`` per offset ``k`` from frame ``t + k``; zeros beyond the ends."""
    own_channels = x.shape[-1] - fold * len(offsets)
    *ranges, own = torch.split(x, [fold] * len(offsets) + [own_channels], dim=-1)
    shifted = [from_frame(channels, offset) for channels, offset in zip(ranges, offsets, strict=True)]
    return torch.cat((*shifted, own), dim=-1)


def from_frame(x: Tensor, k: int) -> Tensor:
    """Put frame ``t + k`` of ``x (b, t, ...)`` at frame ``t``, and zeros where it lies outside the clip."""
    t = x.shape[1]
    k = max(-t, min(k, t))
    zeros = torch.zeros_like(x[:, : abs(k)])
    if k < 0:
        return torch.cat((zeros, x[:, : t + k]), dim=1)
    return torch.cat((x[:, k:], zeros), dim=1)


class Mixing(Scheme):
    """Space-time mixing attention: joint attention over a local window at the cost of spatial attention.

    k~_{s,t} = [k_{s,t-w}(c_{-w}), ..., k_{s,t+w}(c_w)],  the same for v~            (Eq. 9)
    y_{s,t}  = sum_{s'} softmax(q_{s,t} . k~_{s',t} / sqrt(c)) v~_{s',t}             (Eq. 10)

    The channel ranges c_k partition the channels of a head. Frames beyond the clip's ends are zeros.
    With ``causal`` (not in the paper) the window is one-sided:

    k~_{s,t} = [k_{s,t-1}(c_{-1}), ..., k_{s,t-w}(c_{-w}), k_{s,t}(c_0)],  the same for v~.

    With ``summary``, every frame also attends to the summary tokens of all frames (``own``: to its own only), which are
    means over tokens before mixing.

    Shape: ``(b, t * m, d) -> (b, t * m, d)``; each frame carries its own class token, mixed like any token.
    Source: X-ViT, arXiv:2106.05968, section 3.
    Unlike the paper without ``summary_before_norm`` and ``cls_in_summary``: summary tokens are means of normalised
    patch tokens; the paper's are means of the previous layer's tokens, the class token too.
    Not in the released code: ``window`` above 1, ``boundary``, ``per_head``, ``summary`` and ``causal``.
    """

    class_tokens = "frame"
    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int, plan: MixingPlan) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads)
        self.plan = plan
        self.offsets = plan.offsets
        self.groups = num_heads if plan.scope == "per_head" else 1
        self.fold = plan.fold(dim // self.groups)

    def shift(self, names: tuple[Target, ...], x: Tensor, t: int) -> Sequence[Tensor]:
        """Split ``x (b, t * m, parts * d)`` into its parts, and move channels of the mixed parts within each segment.

        ``x`` may be overwritten: see :mod:`lit_video.attention.in_place`.
        """
        mixed = [name in self.plan.mixed for name in names]
        if not (self.offsets and any(mixed)):
            return x.chunk(len(names), dim=-1)

        segment = self.plan.segment or t
        if t % segment:
            raise ValueError(f"{t} frames are not divisible into segments of {segment}")
        clips, num_tokens, channels = x.shape
        d = channels // len(names)
        shape = (clips * (t // segment), segment, num_tokens // t, len(names), self.groups, d // self.groups)

        parts: Sequence[Tensor] | None = None
        if not (has_hooks(self.attn.norm) or has_hooks(self.attn.qkv)):  # a hook may keep the output, unshifted
            parts = shifted_in_place(x, shape, mixed, offsets=self.offsets, fold=self.fold)

        if parts is None:
            copies: list[Tensor] = []
            for part, moves in zip(x.reshape(shape).unbind(3), mixed, strict=True):
                copies.append(shift_channels(part, self.offsets, self.fold) if moves else part)
            parts = copies

        return [part.reshape(clips, num_tokens, d) for part in parts]

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend within frames, over keys and values that hold channels of the neighbouring frames."""
        return self.attend(x, grid, lambda names, y: self.shift(names, y, grid.t))

    def attend(self, x: Tensor, grid: Grid, shift: Shift) -> Tensor:
        """Apply the layer; ``shift(names, y)`` splits ``y (b, t * m, parts * d)`` and moves channels of mixed parts."""
        z = self.attn.norm(x)
        if z is x:  # an identity norm returns the residual, which must not be overwritten
            z = x.clone()

        summary: tuple[Tensor, Tensor] | None = None
        if self.plan.summary:  # before the shift, which may overwrite z
            summary = self._summary(x if self.plan.summary_before_norm else z, grid)

        (z,) = shift(("x",), z)
        parts = shift(QKV, self.attn.qkv(z))
        q, k, v = (rearrange(y, "b (t m) (a c) -> (b t) m a c", t=grid.t, a=self.attn.num_heads) for y in parts)

        if summary is not None:
            summary_k, summary_v = summary
            k = torch.cat((k, summary_k), dim=1)
            v = torch.cat((v, summary_v), dim=1)

        y = self.attn.attend(q, k, v)
        return x + rearrange(y, "(b t) m d -> b (t m) d", t=grid.t)

    def _summary(self, z: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        """Return key and value of each frame's r summary tokens: ``(b, t * m, d) -> 2 x (b * t, r or t * r, a, c)``."""
        tokens = rearrange(z, "b (t m) d -> b t m d", t=grid.t)
        if self.plan.cls_in_summary:
            means = torch.cat((tokens[:, :, :1], tokens[:, :, self.num_prefix_tokens :]), dim=2).mean(2, keepdim=True)
        else:
            side = math.isqrt(self.plan.num_summary_tokens)
            cells = dict(y=side, x=side, h=grid.h // side, w=grid.w // side)
            patches = tokens[:, :, self.num_prefix_tokens :]
            means = reduce(patches, "b t (y h x w) d -> b t (y x) d", "mean", **cells)
        if self.plan.summary_before_norm:
            means = self.attn.norm(means)

        _, k, v = self.attn.project(means).unbind(-3)
        if self.plan.summary == "own":
            return rearrange(k, "b t r a c -> (b t) r a c"), rearrange(v, "b t r a c -> (b t) r a c")

        to_all_frames = "b j r a c -> (b t) (j r) a c"
        return repeat(k, to_all_frames, t=grid.t), repeat(v, to_all_frames, t=grid.t)
