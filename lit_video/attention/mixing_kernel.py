"""Space-time mixing on a GPU: channels move between frames where they are, by one kernel; imports Triton.

The plain way, and the equations, are in :mod:`lit_video.attention.mixing`. Of query, key and value only the borrowed
channels are read and written, in the output of their projection, so that mixing needs no memory. The backward pass
joins the gradients of query, key and value, which autograd does for spatial attention as well, and moves them on the
way.
"""

import math
import warnings
from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

WARPS = 4


class Move(NamedTuple):
    """Which channels move where; the offsets of a :class:`~lit_video.attention.MixingPlan`, in its order.

    Args:
        frames: of a segment.
        places: tokens of a frame.
        groups: of channels in a token.
        first: distance of the nearest frame that is read.
        offsets: how many.
        causal: 1 where all offsets are negative, else 0.
        fold: channels that each offset gets out of a group.
        mixed: the sum of 1 for the query, 2 for the key, 4 for the value where they are mixed.
    """

    frames: int
    places: int
    groups: int
    first: int
    offsets: int
    causal: int
    fold: int
    mixed: int

    def constants(self, width: int) -> dict[str, int]:
        """What both kernels know of the channels when they are compiled."""
        return {
            "WIDTH": width,
            "GROUP": width // self.groups,
            "FOLD": self.fold,
            "BORROWED": self.offsets * self.fold,
            "FIRST": self.first,
            "SIGNS": 1 if self.causal else 2,
            "MIXED": self.mixed,
            "VECTOR": math.gcd(self.fold, width // self.groups, 16),
            "num_warps": WARPS,
        }


def mixed(qkv: Tensor, move: Move) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value ``(b, t * m, d)``, mixed: views of ``qkv (b, t * m, 3 * d)``, which is overwritten.

    Where ``qkv`` is a view (see :func:`owned`) autograd is given what it is a view of: a function that overwrites a
    view may have no more than one output.
    """
    parts = _Mixed.apply(qkv._base if qkv._is_view() else qkv, move)[1:]
    query, key, value = (part.view(*qkv.shape[:-1], part.shape[-1]) for part in parts)
    return query, key, value


def owned(qkv: Tensor) -> bool:
    """Whether ``qkv (..., 3 * d)`` is contiguous and its own, or another shape of all rows of a tensor that is so.

    The latter is what a linear layer gives in PyTorch 2.11: ``(b, n, 3 * d)`` as a view of ``(b * n, 3 * d)``.
    """
    whole = qkv._base if qkv._is_view() else qkv
    assert whole is not None
    return (
        qkv.is_contiguous()
        and whole.is_contiguous()
        and whole.numel() == qkv.numel()
        and whole.shape[-1] == qkv.shape[-1]
        and whole.dtype == qkv.dtype
    )


@cache
def works(device: torch.device) -> bool:
    """Whether Triton can start a kernel, for which it needs a C compiler; else a warning says why, once."""
    try:
        mix_(torch.zeros(1, 2, 6, device=device), list(Move(2, 1, 1, 1, 1, 1, 1, 1)))
    except Exception as error:
        warnings.warn(f"mixing goes on without its kernel: {str(error).splitlines()[0]}", stacklevel=2)
        return False
    return True


class _Mixed(torch.autograd.Function):
    """What is overwritten has to be an output, but nothing reads it, so that its gradient is None."""

    @staticmethod
    def forward(qkv: Tensor, move: Move) -> tuple[Tensor, ...]:
        mix_(qkv, list(move))
        return (qkv, *qkv.chunk(3, dim=-1))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Move], output: tuple[Tensor, ...]) -> None:
        qkv, ctx.move = inputs
        ctx.mark_dirty(qkv)
        ctx.set_materialize_grads(False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, unused: None, *grads: Tensor | None) -> tuple[Tensor, None]:
        known = next(grad for grad in grads if grad is not None)
        query, key, value = (torch.zeros_like(known) if grad is None else grad for grad in grads)
        return join_gradients(query, key, value, list(ctx.move)), None


@torch.library.custom_op("lit_video::mix_", mutates_args={"qkv"})
def mix_(qkv: Tensor, move: list[int]) -> None:
    """Move channels of ``qkv (..., 3 * d)``, contiguous, in place."""
    moves, width = Move(*move), qkv.shape[-1] // 3
    lines = moves.mixed.bit_count() * moves.groups * moves.offsets * moves.fold
    times = triton.next_power_of_2(moves.frames)
    block = max(16, min(256, 4096 // times))
    grid = (qkv.numel() // (3 * width * moves.frames), triton.cdiv(lines, block))
    constants = moves.constants(width) | {"LINES": lines, "TIMES": times, "BLOCK": block}
    with torch.cuda.device(qkv.get_device()):
        mix_kernel[grid](qkv, moves.frames, moves.places, **constants)


@mix_.register_fake
def _(qkv: Tensor, move: list[int]) -> None:
    return None


@torch.library.custom_op("lit_video::join_gradients", mutates_args=())
def join_gradients(query: Tensor, key: Tensor, value: Tensor, move: list[int]) -> Tensor:
    """The gradient of ``qkv (..., 3 * d)`` before the move, from those of query, key and value after it."""
    moves, width = Move(*move), query.shape[-1]
    out = query.new_empty(*query.shape[:-1], 3 * width)
    rows = [_rows(grad) for grad in (query, key, value)]
    steps = [grad.stride(0) for grad in rows]
    constants = moves.constants(width) | {"BLOCK": triton.next_power_of_2(width)}
    with torch.cuda.device(query.get_device()):
        join_kernel[(query.numel() // width,)](out, *rows, *steps, moves.frames, moves.places, **constants)
    return out


@join_gradients.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, move: list[int]) -> Tensor:
    return query.new_empty(*query.shape[:-1], 3 * query.shape[-1])


def _rows(x: Tensor) -> Tensor:
    """As ``(tokens, d)`` with adjacent channels, without a copy where that is possible."""
    x = x.reshape(-1, x.shape[-1])
    return x if x.stride(1) == 1 else x.contiguous()


@triton.jit(do_not_specialize=("frames", "places"))  # 1 would be a constant, which has no type
def mix_kernel(
    qkv,  # (clips * segments, frames, places, 3, WIDTH / GROUP, GROUP)
    frames,
    places,
    WIDTH: tl.constexpr,
    GROUP: tl.constexpr,
    FOLD: tl.constexpr,
    BORROWED: tl.constexpr,
    FIRST: tl.constexpr,
    SIGNS: tl.constexpr,
    MIXED: tl.constexpr,
    VECTOR: tl.constexpr,
    LINES: tl.constexpr,
    TIMES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One place of a segment, some of the channels that move, all frames: read, then written."""
    place = tl.program_id(0).to(tl.int64)
    qkv += (place // places * frames * places + place % places) * 3 * WIDTH
    line = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    EACH: tl.constexpr = WIDTH // GROUP * BORROWED
    # the parts of any MIXED are a first one and those a step apart: 1 to 7 are 0, 1, 01, 2, 02, 12, 012
    first_part: tl.constexpr = 0 if MIXED % 2 else (1 if MIXED % 4 else 2)
    part_step: tl.constexpr = 2 if MIXED == 5 else 1
    part = first_part + line // EACH * part_step
    channel = line % BORROWED
    column = part * WIDTH + line % EACH // BORROWED * GROUP + channel
    column = tl.max_contiguous(tl.multiple_of(column, VECTOR), VECTOR)
    i = channel // FOLD
    offset = tl.max_constancy((FIRST + i // SIGNS) * tl.where(i % SIGNS == SIGNS - 1, -1, 1), VECTOR)
    t = tl.arange(0, TIMES)[:, None]
    source = t + offset[None, :]
    wanted = (t < frames) & (line < LINES)[None, :]
    step = places.to(tl.int64) * (3 * WIDTH)
    values = tl.load(qkv + source * step + column[None, :], mask=wanted & (source >= 0) & (source < frames), other=0.0)
    tl.debug_barrier()  # a thread may write what another one reads
    tl.store(qkv + t * step + column[None, :], values, mask=wanted)


@triton.jit(do_not_specialize=("frames", "places"))
def join_kernel(
    out,  # (tokens, 3, WIDTH)
    query,  # these are gradients, (tokens, WIDTH)
    key,
    value,
    query_step,
    key_step,
    value_step,
    frames,
    places,
    WIDTH: tl.constexpr,
    GROUP: tl.constexpr,
    FOLD: tl.constexpr,
    BORROWED: tl.constexpr,
    FIRST: tl.constexpr,
    SIGNS: tl.constexpr,
    MIXED: tl.constexpr,
    VECTOR: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One token: it gets the gradients of the frames that read it."""
    token = tl.program_id(0).to(tl.int64)
    t = token // places % frames
    column = tl.arange(0, BLOCK)
    i = column % GROUP // FOLD
    offset = (FIRST + i // SIGNS) * tl.where(i % SIGNS == SIGNS - 1, -1, 1)
    offset = tl.max_constancy(tl.where(column % GROUP < BORROWED, offset, 0), VECTOR)
    out += token * 3 * WIDTH
    for part in tl.static_range(3):
        if part == 0:
            source, step = query, query_step
        elif part == 1:
            source, step = key, key_step
        else:
            source, step = value, value_step
        moved = offset * ((MIXED >> part) & 1)
        reader = t - moved
        wanted = (column < WIDTH) & (reader >= 0) & (reader < frames)
        values = tl.load(source + (token - moved * places) * step + column, mask=wanted, other=0.0)
        tl.store(out + part * WIDTH + column, values, mask=column < WIDTH)
