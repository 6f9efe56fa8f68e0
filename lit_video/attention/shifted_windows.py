"""Shifted windows in space and time."""

from functools import lru_cache

import torch
from einops import rearrange, repeat
from torch import Tensor, nn

from lit_video.attention.scheme import Attention, Grid, Scheme

AXES = "b (t i) (h j) (w k) d -> (b t h w) (i j k) d"


class ShiftedWindows(Scheme):
    """Attention within windows of space and time, which odd layers shift by half a window.

        z' = z + softmax(q k / sqrt(c) + B) v   over all tokens of one window                          (Eq. 1, 2)

    B is learned for each head and distance along the axes. The shift is cyclic; tokens that meet only across the
    clip's edge are masked from each other. Along an axis where the window is at least as long as the clip, the window
    is cut to the clip and not shifted.

    Shape: ``(b, t * h * w, d)`` -> same; no class token.
    Source: Liu et al., Video Swin Transformer, arXiv:2106.13230, section 3.2; without its patch merging.
    """

    class_tokens = "none"
    window = Grid(8, 7, 7)

    def __init__(self, dim: int, num_heads: int, layer: int = 0) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads)
        self.shifted = layer % 2 == 1
        t, h, w = self.window
        self.bias = nn.Parameter(torch.zeros(num_heads, 2 * t - 1, 2 * h - 1, 2 * w - 1))
        nn.init.trunc_normal_(self.bias, std=0.02)

    @classmethod
    def check(cls, grid: Grid) -> None:
        """Refuse a grid that does not divide into windows."""
        for size, side in zip(grid, cls.window, strict=True):
            if size % min(size, side):
                sizes = f"{grid.t} x {grid.h} x {grid.w}"
                sides = f"{cls.window.t} x {cls.window.h} x {cls.window.w}"
                raise ValueError(f"a grid of {sizes} does not divide into windows of {sides}")

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend within windows."""
        window = Grid(*map(min, grid, self.window))
        shift = Grid(0, 0, 0)
        if self.shifted:  # along the axes on which the clip is longer than the window
            shift = Grid(*(side // 2 if side < size else 0 for size, side in zip(grid, window, strict=True)))
        sides = dict(i=window.t, j=window.h, k=window.w)
        num_windows = dict(t=grid.t // window.t, h=grid.h // window.h, w=grid.w // window.w)

        z = self.attn.norm(x).view(x.shape[0], *grid, x.shape[2])
        z = z.roll((-shift.t, -shift.h, -shift.w), (1, 2, 3))
        q, k, v = self.attn.project(rearrange(z, AXES, **sides)).unbind(-3)

        # a mask that is made while a program is traced has no numbers: it must not stay in the cache
        mask_of = blocked.__wrapped__ if torch.compiler.is_compiling() else blocked
        edges = mask_of(grid, window, shift).to(x)
        # B for every pair of the n tokens in a window: (a, n, n)
        axes = [torch.arange(side) for side in window]
        places = torch.stack(torch.meshgrid(*axes, indexing="ij")).flatten(1)
        distances = places[:, :, None] - places[:, None]
        t, h, w = distances + torch.tensor(self.window)[:, None, None] - 1  # indices of the table, from 0
        mask = self.bias[:, t, h, w] + repeat(edges, "n i j -> (b n) 1 i j", b=x.shape[0])
        y = self.attn.attend(q, k, v, seen=mask)

        before, after = AXES.split("->")
        y = rearrange(y, f"{after} -> {before}", **sides, **num_windows)
        return x + y.roll((shift.t, shift.h, shift.w), (1, 2, 3)).reshape(x.shape)


@lru_cache(maxsize=16)
def blocked(grid: Grid, window: Grid, shift: Grid) -> Tensor:
    """Return the mask ``(windows, n, n)``, minus infinity where a window's tokens meet only across the clip's edge."""
    parts = [(torch.arange(size, device="cpu") >= size - by).long() for size, by in zip(grid, shift, strict=True)]
    t, h, w = parts
    ids = t[:, None, None] * 4 + h[:, None] * 2 + w
    groups = rearrange(ids[None, ..., None], AXES, i=window.t, j=window.h, k=window.w)[..., 0]

    apart = groups[:, :, None] != groups[:, None]
    return torch.zeros(1, device="cpu").masked_fill(apart, -torch.inf)


class SmallWindows(ShiftedWindows):
    """Shifted windows for small clips: 4 frames x 2 x 2 patches."""

    window = Grid(4, 2, 2)
