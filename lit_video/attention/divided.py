"""Divided space-time attention, in both orders of its steps and with both in parallel."""

import torch
from torch import Tensor, nn

from lit_video.attention.scheme import Attention, Grid, Scheme, ZeroLinear, split_cls


class Divided(Scheme):
    """Attention of each patch over time, to its location in all frames, then over space, to all patches of its frame.

        z'  = z  + W MSA(LN(z))    over the t tokens of one location, patches only
        z'' = z' + MSA(LN(z'))     over the h w tokens of one frame and the class token

    The time step leaves out the class token. In the space step every frame gets a copy of the class token, and the
    copies' branches are averaged. W starts at zero, so training starts from the image model.

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: TimeSformer, arXiv:2102.05095, scheme T+S, section 3.
    Unlike the paper: a layer W, which Eq. 8 has not and the printed 121.4M parameters imply; without ``cls_in_time``
    the class token is no key in the time step, which it is in Eq. 11. Both are so in the released code.
    Like the released code: stochastic depth drops the time step of single locations and the space step of single
    frames.
    Unlike the released code: time is the slowest axis of the tokens.
    """

    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int, cls_in_time: bool = False) -> None:
        super().__init__()
        self.cls_in_time = cls_in_time
        self.time_attn = Attention(dim, num_heads)
        self.time_fc = ZeroLinear(dim, dim)
        self.attn = Attention(dim, num_heads)

    def drop_branches(self, drop: nn.Module) -> bool:
        """Drop the time branch per location, before W, and the space branch per frame."""
        self.time_attn.drop = drop
        self.attn.drop = drop
        return True

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend over time, then over space."""
        cls, z = split_cls(x, self.num_prefix_tokens)
        z = z + self.in_time(cls, z, grid)
        cls_branch, patch_branch = self.in_space(cls, z, grid)
        return torch.cat((cls + cls_branch, z + patch_branch), dim=1)

    def in_time(self, cls: Tensor, z: Tensor, grid: Grid) -> Tensor:
        """Return the time branch after W for patches ``(b, t * h * w, d)``."""
        locations = "b (t s) d -> (b s) t d"
        num_patches = grid.h * grid.w

        if self.cls_in_time:
            _, branch = self.time_attn.over_with_cls(cls, z, locations, t=grid.t, s=num_patches)
            return self.time_fc(branch)

        return self.time_attn.over(z, locations, then=self.time_fc, t=grid.t, s=num_patches)

    def in_space(self, cls: Tensor, z: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        """Return the space branch for the class token and for the patches."""
        return self.attn.over_with_cls(cls, z, "b (t s) d -> (b t) s d", t=grid.t, s=grid.h * grid.w)


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
