"""Divided attention with space and time in parallel."""

import torch
from torch import Tensor

from lit_video.attention.divided import Divided
from lit_video.attention.scheme import Grid, split_cls


class Parallel(Divided):
    """Divided attention with both steps on the same tokens and their branches added.

        z' = z + W MSA_t(LN(z)) + MSA_s(LN(z))

    MSA_t attends over the t tokens of one location, patches only. MSA_s attends over the h w tokens of one frame and
    the class token. Each has its own LN.

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: TimeSformer, arXiv:2102.05095, section 4.7 (0.4 points worse than time before space). No code was
    released. For the class token and W see :class:`~lit_video.attention.Divided`.
    """

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend over time and over space."""
        cls, z = split_cls(x, self.num_prefix_tokens)
        cls_branch, space_branch = self.in_space(cls, z, grid)
        time_branch = self.in_time(cls, z, grid)
        return torch.cat((cls + cls_branch, z + (time_branch + space_branch)), dim=1)
