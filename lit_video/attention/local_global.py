"""Sparse local-global attention."""

import torch
from torch import Tensor

from lit_video.attention.heads import Grid, Heads, Scheme, ZeroLinear


class LocalGlobal(Scheme):
    """Every patch attends a quarter of the image in all frames, then every second patch of the clip along each axis.

    z'  = z  + W MSA(LN(z))    over the t h/2 w/2 patches of its quadrant
    z'' = z' + MSA(LN(z'))     over the t/2 h/2 w/2 patches an even distance away on every axis, and the class token

    Shape: ``(b, 1 + t * h * w, d)`` -> same; t, h and w even.
    Source: TimeSformer, arXiv:2102.05095, scheme L+G, section 3.
    No code was released, and the text leaves open whether the neighbourhood slides with the patch. Our reading: fixed
    quadrants, and the eight interleaved sub-grids that a stride of 2 makes (the authors say that they used einops). The
    added step has its own norm and a zero-initialised W, which the paper's 121.4M parameters need. The class token
    is treated as in :class:`~lit_video.attention.Divided`.

    Raises:
        ValueError: an axis of the grid is odd.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.local_attn = Heads(width, heads)
        self.local_fc = ZeroLinear(width, width)
        self.attn = Heads(width, heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend locally, then globally."""
        self.check(grid)
        t, h, w = grid.t // 2, grid.h // 2, grid.w // 2
        cls, z = x[:, :1], x[:, 1:]
        quadrants = "b (t i h j w) d -> (b i j) (t h w) d"
        z = z + self.local_fc(self.local_attn.over(z, quadrants, t=grid.t, i=2, h=h, j=2, w=w))
        x = torch.cat((cls, z), dim=1)
        strided = "b (t k h i w j) d -> (b k i j) (t h w) d"
        return x + self.attn.over_with_cls(x, strided, t=t, k=2, h=h, i=2, w=w, j=2)

    @staticmethod
    def check(grid: Grid) -> None:
        """Refuse a grid that does not divide into two along every axis."""
        if grid.t % 2 or grid.h % 2 or grid.w % 2:
            raise ValueError(
                f"attention local_global needs a grid of even numbers, this one is {grid.t} x {grid.h} x {grid.w}"
            )
