"""Sparse local-global attention."""

import torch
from einops import repeat
from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme, ZeroLinear, split_cls


class LocalGlobal(Scheme):
    """Attention to a quarter of the image in all frames, then to every second patch of the clip along each axis.

        z'  = z  + W MSA(LN(z))    over the t h/2 w/2 patches of one quadrant
        z'' = z' + MSA(LN(z'))     over the t/2 h/2 w/2 patches an even distance away on every axis, and the class token

    Shape: ``(b, 1 + t * h * w, d)`` -> same; t, h and w even.
    Source: TimeSformer, arXiv:2102.05095, scheme L+G, section 3.
    No code was released, and the text leaves open whether the neighbourhood slides with the patch. Our reading: fixed
    quadrants, and eight interleaved sub-grids of stride 2 (the authors say that they used einops). The sliding reading
    is :class:`SlidingGlobal`. The local step has its own norm and W, as the paper's 121.4M parameters imply. W starts
    at zero. The class token is treated as in :class:`~lit_video.attention.Divided`.
    Unlike the paper: the class token is no key in the local step, where by Eqs. 5 and 11 it would be one.
    """

    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.local_attn = Attention(dim, num_heads)
        self.local_fc = ZeroLinear(dim, dim)
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend locally, then globally."""
        self.check(grid)
        cls, z = split_cls(x, self.num_prefix_tokens)
        z = z + self.local(z, grid)

        strided = "b (t k h i w j) d -> (b k i j) (t h w) d"
        sizes = dict(t=grid.t // 2, k=2, h=grid.h // 2, i=2, w=grid.w // 2, j=2)
        cls_branch, patch_branch = self.attn.over_with_cls(cls, z, strided, **sizes)
        return torch.cat((cls + cls_branch, z + patch_branch), dim=1)

    def local(self, z: Tensor, grid: Grid) -> Tensor:
        """Return what the local step adds to patches ``(b, t * h * w, d)``: attention, then W."""
        quadrants = "b (t i h j w) d -> (b i j) (t h w) d"
        sizes = dict(t=grid.t, i=2, h=grid.h // 2, j=2, w=grid.w // 2)
        return self.local_attn.over(z, quadrants, then=self.local_fc, **sizes)

    @classmethod
    def check(cls, grid: Grid) -> None:
        """Refuse a grid that does not divide into two along every axis."""
        if grid.t % 2 or grid.h % 2 or grid.w % 2:
            raise ValueError(
                f"attention local_global needs a grid of even numbers, this one is {grid.t} x {grid.h} x {grid.w}"
            )


class SlidingGlobal(LocalGlobal):
    """Local-global attention with a sliding neighbourhood: the h/2 x w/2 patches around each patch, in all frames.

    At an edge the neighbourhood is moved inside the image, so it has the same size for every patch. All other keys are
    masked, so the step costs as much as joint attention.
    """

    def local(self, z: Tensor, grid: Grid) -> Tensor:
        """Return what the local step adds to patches ``(b, t * h * w, d)``: attention, then W."""
        q, k, v = self.local_attn.project(self.local_attn.norm(z)).unbind(-3)
        return self.local_attn.attend(q, k, v, seen=self.near(grid, z.device), then=self.local_fc)

    @staticmethod
    def near(grid: Grid, device: torch.device) -> Tensor:
        """Return the mask ``(t * h * w, t * h * w)`` of the patches that each patch sees."""
        rows = _nearest_half(grid.h, device)
        columns = _nearest_half(grid.w, device)
        both = rows[:, None, :, None] & columns[None, :, None, :]
        return repeat(both, "h w i j -> (t h w) (k i j)", t=grid.t, k=grid.t)


def _nearest_half(size: int, device: torch.device) -> Tensor:
    """Return the mask ``(size, size)`` that gives each cell the half of all cells nearest to it."""
    place = torch.arange(size, device=device)
    start = (place - size // 4).clamp(0, size - size // 2)[:, None]
    return (place >= start) & (place < start + size // 2)
