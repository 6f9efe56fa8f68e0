"""The pieces that attention schemes share: the token grid and multi-head projections."""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


class Grid(NamedTuple):
    """Token grid of a clip: frames, patch rows, patch columns."""

    t: int
    h: int
    w: int


class Scheme(nn.Module):
    """Base of all attention schemes: the signature, nothing else."""

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Map tokens ``(b, n, d)`` on ``grid`` to tokens ``(b, n, d)``, residual included."""
        raise NotImplementedError


class Heads(nn.Module):
    """Pre-norm multi-head attention, with timm's parameter names (``norm``, ``qkv``, ``proj``).

    Args:
        width: channels ``d`` of a token; a multiple of ``heads``.
        heads: number of heads ``a``.
        qkv_bias: whether the projection to query, key and value has a bias.
        eps: epsilon of the layer norm.

    Raises:
        ValueError: ``width`` is not a multiple of ``heads``.
    """

    def __init__(self, width: int, heads: int, qkv_bias: bool = True, eps: float = 1e-6) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is not divisible by heads {heads}")
        self.heads = heads
        self.norm = nn.LayerNorm(width, eps=eps)
        self.qkv = nn.Linear(width, 3 * width, bias=qkv_bias)
        self.proj = nn.Linear(width, width)

    def project(self, x: Tensor) -> Tensor:
        """Normalised tokens ``(..., d)`` -> query, key and value ``(..., 3, a, c)``."""
        return rearrange(self.qkv(x), "... (qkv a c) -> ... qkv a c", qkv=3, a=self.heads)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Softmax attention of ``q (b, m, a, c)`` over ``k, v (b, j, a, c)``, merged and projected to ``(b, m, d)``."""
        q, k, v = (rearrange(y, "b m a c -> b a m c") for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(rearrange(y, "b a m c -> b m (a c)"))

    def forward(self, x: Tensor) -> Tensor:
        """Self-attention branch without residual: ``(b, m, d) -> (b, m, d)``."""
        q, k, v = self.project(self.norm(x)).unbind(-3)
        return self.attend(q, k, v)
