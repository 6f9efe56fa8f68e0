"""Single steps of attention: what a scheme computes, and the same as FlexAttention with a mask."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from lit_video.attention import Grid, Heads, LocalWindow, Mixing, MixingPlan, SlidingGlobal
from lit_video.network.vit import ViTSize

Sees = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class AttentionStep:
    """One step of a scheme, on the patches of a clip; class tokens are left out.

    Args:
        module: its weights.
        branch: tokens ``(b, n, d)`` to what they get, ``(b, n, d)``.
        heads: projections, for FlexAttention.
        sees: whether the token with the first index sees that with the second; ``None`` where a mask cannot say it, or
            all see all.
    """

    module: nn.Module
    branch: Callable[[Tensor], Tensor]
    heads: Heads
    sees: Sees | None = None


def attention_steps(size: ViTSize, grid: Grid) -> dict[str, AttentionStep]:
    """The steps that schemes are made of, by name; L+G's where the grid is even."""
    (t, h, w), s = grid, grid.h * grid.w
    steps: dict[str, AttentionStep] = {}

    def grouped(name: str, groups: str, sees: Sees | None, **axes: int) -> None:
        heads = Heads(size.width, size.heads)
        steps[name] = AttentionStep(heads, lambda x: heads.over(x, groups, None, **axes), heads, sees)

    grouped("ST", "b n d -> b n d", None)
    grouped("T+S: space", "b (t s) d -> (b t) s d", lambda i, j: i // s == j // s, t=t, s=s)
    grouped("T+S: time", "b (t s) d -> (b s) t d", lambda i, j: i % s == j % s, t=t, s=s)
    grouped("T+W+H: rows", "b (t h w) d -> (b t h) w d", lambda i, j: i // w == j // w, t=t, h=h, w=w)
    columns: Sees = lambda i, j: (i // s == j // s) & (i % w == j % w)  # noqa: E731
    grouped("T+W+H: columns", "b (t h w) d -> (b t w) h d", columns, t=t, h=h, w=w)
    if not (t % 2 or h % 2 or w % 2):
        halves = dict(h=h // 2, w=w // 2)
        quadrants: Sees = lambda i, j: (  # noqa: E731
            (i // w % h // (h // 2) == j // w % h // (h // 2)) & (i % w // (w // 2) == j % w // (w // 2))
        )
        grouped("L+G: quadrants", "b (t i h j w) d -> (b i j) (t h w) d", quadrants, t=t, i=2, j=2, **halves)
        strided: Sees = lambda i, j: ((i // s - j // s) | (i // w % h - j // w % h) | (i % w - j % w)) % 2 == 0  # noqa: E731
        grouped("L+G: strided", "b (t k h i w j) d -> (b k i j) (t h w) d", strided, t=t // 2, k=2, i=2, j=2, **halves)
        steps["L+G: sliding"] = _sliding(size, grid)
    steps["exact window"] = _window(size, grid)
    mixing = Mixing(size.width, size.heads, MixingPlan())
    steps["X-ViT"] = AttentionStep(mixing, lambda x: mixing(x, grid) - x, mixing.attn)
    return steps


def _window(size: ViTSize, grid: Grid) -> AttentionStep:
    local, s = LocalWindow(size.width, size.heads), grid.h * grid.w
    return AttentionStep(
        local,
        lambda x: local.attend(*local.project(x, grid)),
        local.attn,
        lambda i, j: (i // s - j // s).abs() <= local.window,
    )


def _sliding(size: ViTSize, grid: Grid) -> AttentionStep:
    sliding = SlidingGlobal(size.width, size.heads)
    heads, h, w = sliding.local_attn, grid.h, grid.w

    def branch(x: Tensor) -> Tensor:
        q, k, v = heads.project(heads.norm(x)).unbind(-3)
        return heads.attend(q, k, v, sliding.near(grid, x.device))

    def near(i: Tensor, j: Tensor, size: int) -> Tensor:
        start = (i - size // 4).clamp(0, size - size // 2)
        return (j >= start) & (j < start + size // 2)

    return AttentionStep(sliding, branch, heads, lambda i, j: near(i // w % h, j // w % h, h) & near(i % w, j % w, w))


def block_mask(step: AttentionStep, tokens: int, device: torch.device) -> BlockMask:
    """Which blocks of queries and keys FlexAttention computes."""
    sees = step.sees
    if sees is None:
        raise ValueError("a step without a mask has none")
    return create_block_mask(lambda b, a, i, j: sees(i, j), None, None, tokens, tokens, device=str(device))


def flex_branch(step: AttentionStep, x: Tensor, mask: BlockMask, attention: Callable[..., Tensor]) -> Tensor:
    """The step by FlexAttention, compiled or not, over all tokens at once."""
    q, k, v = rearrange(step.heads.project(step.heads.norm(x)), "b n qkv a c -> qkv b a n c")
    return step.heads.proj(rearrange(attention(q, k, v, block_mask=mask), "b a n c -> b n (a c)"))


__all__ = ["AttentionStep", "attention_steps", "block_mask", "flex_attention", "flex_branch"]
