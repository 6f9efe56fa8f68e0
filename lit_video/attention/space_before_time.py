"""Divided attention with space before time."""

import torch
from torch import Tensor

from lit_video.attention.divided import Divided
from lit_video.attention.scheme import Grid, split_cls


class SpaceBeforeTime(Divided):
    """Divided attention in the other order: space, then time.

        z'  = z  + MSA(LN(z))        over the h w tokens of one frame and the class token
        z'' = z' + W MSA(LN(z'))     over the t tokens of one location, patches only

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: TimeSformer, arXiv:2102.05095, section 4.7 (half a point worse than time before space). No code was
    released. For the class token and W see :class:`~lit_video.attention.Divided`.
    """

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend over space, then over time."""
        cls, z = split_cls(x, self.num_prefix_tokens)
        cls_branch, patch_branch = self.in_space(cls, z, grid)
        cls = cls + cls_branch
        z = z + patch_branch

        z = z + self.in_time(cls, z, grid)
        return torch.cat((cls, z), dim=1)
