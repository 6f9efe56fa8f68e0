"""Axial attention."""

import torch
from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme, ZeroLinear, split_cls


class Axial(Scheme):
    """Attention along one axis at a time: time, then the row, then the column of a frame.

        z'   = z   + W MSA(LN(z))      over the t patches of one location
        z''  = z'  + W' MSA(LN(z'))    over the w patches of one row of a frame
        z''' = z'' + MSA(LN(z''))      over the h patches of one column of a frame, and the class token

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: TimeSformer, arXiv:2102.05095, scheme T+W+H, section 3.
    No code was released. Our reading: the time step and the row step each have a norm and a linear layer (W, W'), as
    the paper's 156.8M parameters imply. W and W' start at zero. Only the last step includes the class token: every
    column gets a copy, and the copies' branches are averaged, as over frames in :class:`~lit_video.attention.Divided`.
    Unlike the paper: the class token is a key in the last step alone, where by Eqs. 5 and 11 it would be one in every
    step.
    """

    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.time_attn = Attention(dim, num_heads)
        self.time_fc = ZeroLinear(dim, dim)
        self.row_attn = Attention(dim, num_heads)
        self.row_fc = ZeroLinear(dim, dim)
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend along time, rows and columns."""
        cls, z = split_cls(x, self.num_prefix_tokens)
        sizes = grid._asdict()

        z = z + self.time_attn.over(z, "b (t h w) d -> (b h w) t d", then=self.time_fc, **sizes)
        z = z + self.row_attn.over(z, "b (t h w) d -> (b t h) w d", then=self.row_fc, **sizes)

        cls_branch, patch_branch = self.attn.over_with_cls(cls, z, "b (t h w) d -> (b t w) h d", **sizes)
        return torch.cat((cls + cls_branch, z + patch_branch), dim=1)
