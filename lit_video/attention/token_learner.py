"""Attention over learned tokens."""

import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from lit_video.attention.scheme import Attention, Grid, Scheme, split_cls


class TokenLearner(Scheme):
    """Attention among ``k`` learned tokens per frame, fused back into the patches.

        v_{t,i}  = sum_s softmax_s(A(LN(z_{t,s})))_i z_{t,s}             k tokens per frame          (section 2.1)
        u        = MSA(LN(v))   over the class token and the t k tokens of the clip
        z'_{t,s} = z_{t,s} + sum_i sigmoid(B(LN(z_{t,s})))_i u_{t,i}     TokenFuser                  (section 2.2)

    A and B are linear here.

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: Ryoo et al., TokenLearner, arXiv:2106.11297; softmax over locations like version 1.1 of its code.
    The paper learns tokens once and fuses them at the network's end; here every layer does both.
    """

    tokens = 4  # tokens per frame; the paper uses 8 for 14 x 14 patches

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.learn = nn.Linear(dim, self.tokens)
        self.fuse = nn.Linear(dim, self.tokens)
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Learn tokens, attend among them, and fuse them into the patches."""
        cls, z = split_cls(x)
        frames = rearrange(z, "b (t s) d -> b t s d", t=grid.t)
        normed = self.norm(frames)

        learned = einsum(self.learn(normed).softmax(2), frames, "b t s i, b t s d -> b t i d")
        learned = rearrange(learned, "b t i d -> b (t i) d")
        cls_branch, u = split_cls(self.attn(torch.cat((cls, learned), dim=1)))

        u = rearrange(u, "b (t i) d -> b t i d", t=grid.t)
        fused = einsum(self.fuse(normed).sigmoid(), u, "b t s i, b t i d -> b t s d")
        fused = rearrange(fused, "b t s d -> b (t s) d")
        return torch.cat((cls + cls_branch, z + fused), dim=1)
