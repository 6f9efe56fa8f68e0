"""X-ViT's space-time mixing attention."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from einops import rearrange, reduce, repeat
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from lit_video.attention.heads import Grid, Heads, Scheme

Target = Literal["x", "key", "value", "query"]
Scope = Literal["per_head", "full"]
Summary = bool | Literal["own"]
Shift = Callable[[tuple[Target, ...], Tensor], Sequence[Tensor]]
PARTS: tuple[Target, ...] = ("query", "key", "value")


@dataclass(frozen=True)
class MixingPlan:
    """Plan of the mixing: which channels of which tensors are read from which frames.

    Args:
        window: ``t_w``; channels are read from frames up to this distance. 0 is spatial-only attention.
        boundary: only from the two frames at distance ``window`` ("Bo." in Table 1).
        ratio: ``rho`` in [0, 1], the share of channels that comes from other frames.
        mixed: the tensors whose channels move: any of ``x`` (the normed input), ``key``, ``value``, ``query``.
        scope: ``per_head`` splits the channels of each head (Eq. 9); ``full`` splits the concatenated heads,
            so that whole heads move (the released code).
        summary: keys and values also hold the summary tokens of all frames (section 3), or with ``own`` that of the
            frame itself only: the text says all, the complexity that it gives fits one.
        summary_tokens: summary tokens per frame, R: a square number, the means over as many equal cells of its patches.
        summary_before_norm: take the means of the tokens and norm them, as the text has it, not of the normed tokens.
        segment: frames of a group; channels move inside a group only. ``None``: the whole clip.
        causal: only from past frames, those up to ``window`` before; ``ratio`` stays the share of channels that comes
            from other frames, so that each of half as many frames gets twice as many.
    """

    window: int = 1
    boundary: bool = False
    ratio: float = 0.5
    mixed: tuple[Target, ...] = field(default=("key", "value"))
    scope: Scope = "per_head"
    summary: Summary = False
    summary_tokens: int = 1
    summary_before_norm: bool = False
    segment: int | None = None
    causal: bool = False

    def __post_init__(self) -> None:
        r, unknown = self.summary_tokens, ", ".join(sorted({*self.mixed} - {"x", *PARTS}))
        wrong = {
            f"window is {self.window}, expected 0, 1, 2, ...": self.window < 0,
            f"ratio is {self.ratio}, expected a number from 0 to 1": not 0 <= self.ratio <= 1,
            f"scope is {self.scope!r}, expected per_head or full": self.scope not in ("per_head", "full"),
            f"summary is {self.summary!r}, expected true, false or own": self.summary not in (True, False, "own"),
            f"summary_tokens is {r}, expected 1, 4, 9, ...": r < 1 or math.isqrt(r) ** 2 != r,
            "summary_tokens and summary_before_norm do not apply without summary": not self.summary
            and (r > 1 or self.summary_before_norm),
            f"segment is {self.segment}, expected at least 1 frame": self.segment is not None and self.segment < 1,
            f"mixed names {unknown}, expected x, key, value or query": unknown,
            "summary is true: the summary tokens of all frames are not causal; give own or false": self.causal
            and self.summary is True,
            f"segments is {self.segment}: causal mixing has no groups of frames": self.causal and self.segment,
        }
        for message in (message for message, applies in wrong.items() if applies):
            raise ValueError(message)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Frame distances in the order of their channels: +1, -1, +2, -2, ... (the release's order, continued).

        Causal: -1, -2, ..., what is left of these.
        """
        if self.window == 0 or self.ratio == 0 or not self.mixed:
            return ()
        first = self.window if self.boundary else 1
        return tuple(sign * k for k in range(first, self.window + 1) for sign in ((-1,) if self.causal else (1, -1)))

    def fold(self, channels: int) -> int:
        """Return each offset's share of ``channels``: floor(ratio * channels / offsets)."""
        if not self.offsets:
            return 0
        fold = math.floor(self.ratio * channels / len(self.offsets) + 1e-6)
        if fold == 0:
            raise ValueError(
                f"window {self.window} at ratio {self.ratio} leaves no channel per offset: "
                f"{channels} channels for {len(self.offsets)} neighbouring frames"
            )
        return fold


def shift_channels(x: Tensor, offsets: Iterable[int], fold: int) -> Tensor:
    """Read ``fold`` channels of ``x (b, t, ..., c)`` per offset ``k`` from frame ``t + k``, zeros beyond the ends.

    In place: frame by frame on a CPU, where a copy of the range costs more than the calls.
    """
    t = x.shape[1]
    for i, k in enumerate(offsets):
        moved = x[..., i * fold : (i + 1) * fold]
        start, stop = min(max(-k, 0), t), max(t - max(k, 0), 0)
        if x.is_cpu and not torch.compiler.is_compiling():  # in this order nothing is overwritten before it is read
            for frame in range(start, stop)[:: 1 if k > 0 else -1]:
                moved[:, frame] = moved[:, frame + k]
        elif start < stop:
            moved[:, start:stop] = moved[:, start + k : stop + k].clone()
        moved[:, :start] = 0
        moved[:, stop:] = 0
    return x


class _Shifted(torch.autograd.Function):
    """Parts of a tensor ``(..., parts * d)`` after ``shift(tensor, 1)``, in place: autograd keeps no second copy.

    The shift is linear and ``shift(gradient, -1)`` its transpose. The parts' gradients are joined, which autograd does
    for parts that nothing shifts as well, and shifted where they are. Autograd wants the overwritten tensor among the
    outputs; nothing reads it there.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, parts: int, shift: Callable[[Tensor, int], Tensor]) -> tuple[Tensor, ...]:
        ctx.mark_dirty(x)
        ctx.set_materialize_grads(False)
        ctx.shift = shift
        return shift(x, 1), *x.chunk(parts, dim=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None]:
        known = next((grad for grad in grads if grad is not None), None)
        if known is None:
            return None, None, None
        joined = torch.cat([torch.zeros_like(known) if grad is None else grad for grad in grads[1:]], dim=-1)
        return ctx.shift(joined, -1), None, None


def _owned(x: Tensor) -> Tensor | None:
    """Tensor that may be overwritten in place of ``x``, a layer's output; ``None`` where autograd could not follow.

    It is ``x``, or what ``x`` is another shape of: linear layers of PyTorch 2.11 return a view ``(b, n, d)`` of a
    product ``(b * n, d)``, and a function that overwrites a view may have no more than one output.
    """
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if traced or torch._C._are_functorch_transforms_active():
        return None
    whole = x if (base := x._base) is None else base
    same = (whole.numel(), whole.shape[-1], whole.dtype) == (x.numel(), x.shape[-1], x.dtype)
    dual = unpack_dual(x).tangent is not None  # type: ignore[no-untyped-call]
    return whole if same and not dual and whole.is_contiguous() and x.is_contiguous() else None


class Mixing(Scheme):
    """Space-time mixing attention: joint attention over a local window at the cost of spatial attention.

    k~_{s,t} = [k_{s,t-w}(c_{-w}), ..., k_{s,t+w}(c_w)],  v~ likewise                (Eq. 9)
    y_{s,t}  = sum_{s'} softmax(q_{s,t} . k~_{s',t} / sqrt(c)) v~_{s',t}             (Eq. 10)

    where the channel ranges c_k partition the channels of a head. Frames beyond the clip's ends are zeros.
    Causal, which is not in the paper, the window is one-sided:

    k~_{s,t} = [k_{s,t-1}(c_{-1}), ..., k_{s,t-w}(c_{-w}), k_{s,t}(c_0)],  v~ likewise.

    With ``summary`` the keys and values of all frames' summary tokens, means over each frame's patch tokens before
    anything is mixed, are appended to those of every frame.

    Shape: ``(b, t * m, d) -> (b, t * m, d)``; each frame carries its own class token, mixed like any other.
    Source: X-ViT, arXiv:2106.05968, section 3.
    Unlike the released code: ``window`` above 1, ``boundary``, ``per_head``, ``summary`` and ``causal`` exist.

    Raises:
        ValueError: a head is too narrow for the window, or ``width`` is not a multiple of ``heads``.
    """

    class_tokens = "frame"
    prefix = 1

    def __init__(self, width: int, heads: int, plan: MixingPlan) -> None:
        super().__init__()
        self.attn = Heads(width, heads)
        self.plan = plan
        self.offsets = plan.offsets
        self.groups = 1 if plan.scope == "full" else heads
        self.fold = plan.fold(width // self.groups)

    def shift(self, names: tuple[Target, ...], x: Tensor, t: int) -> Sequence[Tensor]:
        """Parts of ``x (b, t * m, parts * d)``, by name: channels of those that are mixed move within each segment.

        Parts are views of ``x``, which is overwritten where autograd can follow (:func:`_owned`).
        """
        mixed = [i for i, name in enumerate(names) if name in self.plan.mixed]
        if not (self.offsets and mixed):
            return x.chunk(len(names), dim=-1)
        segment = self.plan.segment or t
        if t % segment:
            raise ValueError(f"{t} frames are not divisible into segments of {segment}")
        together = slice(mixed[0], mixed[-1] + 1, 2 if mixed == [0, 2] else 1)  # of query, key and value
        m, d = x.shape[1] // t, x.shape[2] // len(names)
        shape = (x.shape[0] * (t // segment), segment, m, len(names), self.groups, d // self.groups)

        def move(y: Tensor, sign: int) -> Tensor:
            moved = y.view(shape) if len(mixed) == len(names) else y.view(shape)[:, :, :, together]
            shift_channels(moved, [sign * k for k in self.offsets], self.fold)
            return y

        whole = _owned(x)
        if whole is None:
            return move(x.clone(memory_format=torch.contiguous_format), 1).chunk(len(names), dim=-1)
        return [part.view(*x.shape[:2], d) for part in _Shifted.apply(whole, len(names), move)[1:]]

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend within frames, over keys and values that hold channels of the neighbouring frames."""
        return self.attend(x, grid, lambda names, y: self.shift(names, y, grid.t))

    def attend(self, x: Tensor, grid: Grid, shift: Shift) -> Tensor:
        """The layer with its channels moved by ``shift``.

        It gets names, and a tensor of as many equal parts ``(b, t * m, parts * d)``, and returns the parts, those that
        are mixed with channels moved.
        """
        z = self.attn.norm(x)
        z = x.clone() if z is x else z  # a norm that does nothing: the residual must not be overwritten
        summary = self._summary(x if self.plan.summary_before_norm else z, grid) if self.plan.summary else ()
        (z,) = shift(("x",), z)
        parts = shift(PARTS, self.attn.qkv(z))
        q, k, v = (rearrange(y, "b (t m) (a c) -> (b t) m a c", t=grid.t, a=self.attn.heads) for y in parts)
        if summary:
            k, v = (torch.cat((y, extra), dim=1) for y, extra in zip((k, v), summary, strict=True))
        return x + rearrange(self.attn.attend(q, k, v), "(b t) m d -> b (t m) d", t=grid.t)

    def _summary(self, z: Tensor, grid: Grid) -> tuple[Tensor, ...]:
        """Key and value of the frames' summary tokens: ``(b, t * m, d) -> 2 x (b * t, r or t * r, a, c)``.

        ``z`` is normed, or is not and its means are.
        """
        patches = rearrange(z, "b (t m) d -> b t m d", t=grid.t)[:, :, self.prefix :]
        side = math.isqrt(self.plan.summary_tokens)
        cells = dict(y=side, x=side, h=grid.h // side, w=grid.w // side)
        means = reduce(patches, "b t (y h x w) d -> b t (y x) d", "mean", **cells)
        _, k, v = self.attn.project(self.attn.norm(means) if self.plan.summary_before_norm else means).unbind(-3)
        if self.plan.summary == "own":
            return tuple(rearrange(y, "b t r a c -> (b t) r a c") for y in (k, v))
        return tuple(repeat(y, "b j r a c -> (b t) (j r) a c", t=grid.t) for y in (k, v))
