"""The pieces that attention schemes share: the token grid and multi-head projections."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn


class Grid(NamedTuple):
    """Token grid of a clip: frames, patch rows, patch columns."""

    t: int
    h: int
    w: int


class Scheme(nn.Module):
    """Base of all attention schemes."""

    def drop_branches(self, drop: nn.Module) -> bool:
        """Take over stochastic depth, where branches are dropped one by one; else it is for all that a clip gets.

        Args:
            drop: sets rows of a branch to zero in training.
        """
        return False

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Map tokens ``(b, n, d)`` on ``grid`` to tokens ``(b, n, d)``, residual included."""
        raise NotImplementedError


class ZeroLinear(nn.Linear):
    """A linear layer that starts at zero: the branch that ends in it adds nothing until it has learned."""

    def reset_parameters(self) -> None:
        """Zero weight and bias."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


class Heads(nn.Module):
    """Pre-norm multi-head attention, with timm's parameter names (``norm``, ``qkv``, ``proj``).

    Args:
        width: channels ``d`` of a token; a multiple of ``heads``.
        heads: number of heads ``a``.
        qkv_bias: whether the projection to query, key and value has a bias.
        eps: epsilon of the layer norm.
        proj: kind of the output projection.

    Raises:
        ValueError: ``width`` is not a multiple of ``heads``.
    """

    def __init__(
        self, width: int, heads: int, qkv_bias: bool = True, eps: float = 1e-6, proj: type[nn.Linear] = nn.Linear
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is not divisible by heads {heads}")
        self.heads = heads
        self.norm = nn.LayerNorm(width, eps=eps)
        self.qkv = nn.Linear(width, 3 * width, bias=qkv_bias)
        self.proj = proj(width, width)
        self.drop: nn.Module = nn.Identity()  # of whole groups in training

    def project(self, x: Tensor) -> Tensor:
        """Normalised tokens ``(..., d)`` -> query, key and value ``(..., 3, a, c)``."""
        return rearrange(self.qkv(x), "... (qkv a c) -> ... qkv a c", qkv=3, a=self.heads)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None) -> Tensor:
        """Softmax attention of ``q (b, m, a, c)`` over ``k, v (b, j, a, c)``, merged and projected to ``(b, m, d)``.

        ``seen (m, j)``, booleans, says which keys a query sees; ``None``: all.
        """
        q, k, v = (rearrange(y, "b m a c -> b a m c") for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, seen)
        return self.proj(rearrange(y, "b a m c -> b m (a c)"))

    def forward(self, x: Tensor) -> Tensor:
        """Self-attention branch without residual: ``(b, m, d) -> (b, m, d)``."""
        q, k, v = self.project(self.norm(x)).unbind(-3)
        return self.attend(q, k, v)

    def over(self, x: Tensor, groups: str, **axes: int) -> Tensor:
        """The branch within groups of tokens, each group alone: ``(b, n, d) -> (b, n, d)``.

        ``groups`` is an einops pattern such as ``"b (t s) d -> (b s) t d"``; ``axes`` are the sizes that undo it.
        """
        before, after = groups.split("->")
        return rearrange(self.drop(self(rearrange(x, groups, **axes))), f"{after} -> {before}", **axes)

    def over_with_cls(self, x: Tensor, groups: str, **axes: int) -> Tensor:
        """As :meth:`over` for tokens led by one class token, which every group gets a copy of.

        The class token's branch is the mean over the groups: ``(b, 1 + n, d) -> (b, 1 + n, d)``.
        """
        before, after = groups.split("->")
        grouped = rearrange(x[:, 1:], groups, **axes)
        copies = (x.shape[1] - 1) // grouped.shape[1]
        cls = repeat(x[:, :1], "b 1 d -> (b g) 1 d", g=copies)
        y = self.drop(self(torch.cat((cls, grouped), dim=1)))
        cls = rearrange(y[:, 0], "(b g) d -> b g d", g=copies).mean(1, keepdim=True)
        return torch.cat((cls, rearrange(y[:, 1:], f"{after} -> {before}", **axes)), dim=1)
