"""Channel shift for space-time mixing in place, so that autograd keeps no second copy of queries, keys and values."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual


def shifted_in_place(
    x: Tensor, shape: Sequence[int], mixed: Sequence[bool], *, offsets: Sequence[int], fold: int
) -> Sequence[Tensor] | None:
    """Shift channels of ``x`` in place and return its parts; return ``None`` where autograd does not support this.

    ``x`` is a layer's output ``(clips, tokens, parts * d)``, viewed as ``shape``: (segments of all clips, frames of a
    segment, tokens of a frame, parts, groups of channels, channels of a group). ``mixed`` is True for parts whose
    channels move, see :func:`lit_video.attention.mixing.shift_channels`.
    """
    moving = [part for part, moves in enumerate(mixed) if moves]
    step = 2 if moving == [0, 2] else 1
    moving_parts = slice(moving[0], moving[-1] + 1, step)

    def move(y: Tensor, sign: int) -> Tensor:
        parts = y.view(shape)
        if not all(mixed):  # vmap has no rule for a slice of everything
            parts = parts[:, :, :, moving_parts]
        signed_offsets = [sign * offset for offset in offsets]
        shift_in_place(parts, signed_offsets, fold)
        return y

    owned = _owned(x)
    if owned is None:
        return None

    _, *parts = _Shifted.apply(owned, len(mixed), move)
    return parts


def shift_in_place(x: Tensor, offsets: Sequence[int], fold: int) -> Tensor:
    """Apply :func:`lit_video.attention.mixing.shift_channels` in place."""
    t = x.shape[1]
    for i, k in enumerate(offsets):
        moved = x[..., i * fold : (i + 1) * fold]
        start = min(max(-k, 0), t)
        stop = max(t - max(k, 0), 0)

        if x.is_cpu:  # faster than a copy
            frames = range(start, stop)
            if k < 0:
                frames = frames[::-1]  # no frame is overwritten before it is read
            for frame in frames:
                moved[:, frame] = moved[:, frame + k]
        elif start < stop:
            moved[:, start:stop] = moved[:, start + k : stop + k].clone()

        moved[:, :start] = 0
        moved[:, stop:] = 0
    return x


class _Shifted(torch.autograd.Function):
    """Parts of ``x (..., parts * d)`` after ``move(x, 1)`` in place; the backward pass is ``move(gradient, -1)``.

    Autograd requires the overwritten tensor as the first output; callers ignore it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, parts: int, move: Callable[[Tensor, int], Tensor]) -> tuple[Tensor, ...]:
        ctx.mark_dirty(x)
        ctx.set_materialize_grads(False)
        ctx.move = move
        return move(x, 1), *x.chunk(parts, dim=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None]:
        present = [grad for grad in grads if grad is not None]
        if not present:
            return None, None, None

        zeros = torch.zeros_like(present[0])
        parts = [zeros if grad is None else grad for grad in grads[1:]]
        return ctx.move(torch.cat(parts, dim=-1), -1), None, None


def _owned(x: Tensor) -> Tensor | None:
    """Return the tensor to overwrite for ``x``; ``None`` where autograd does not support it.

    Linear layers of PyTorch 2.11 return a view ``(b, n, d)`` of a product ``(b * n, d)``. The product is overwritten,
    because an autograd function that overwrites a view may have only one output.
    """
    traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    if traced or torch._C._are_functorch_transforms_active():
        return None

    owner = x if x._base is None else x._base
    same_values = owner.numel() == x.numel() and owner.shape[-1] == x.shape[-1] and owner.dtype == x.dtype
    has_tangent = unpack_dual(x).tangent is not None  # type: ignore[no-untyped-call]
    if has_tangent or not same_values or not owner.is_contiguous() or not x.is_contiguous():
        return None
    return owner
