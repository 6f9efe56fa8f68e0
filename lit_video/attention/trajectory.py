"""Trajectory attention."""

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn

from lit_video.attention.scheme import Attention, Grid, Scheme


class Trajectory(Scheme):
    """Attention of each patch to every frame separately, then over time to the results, the patch's trajectory.

        y_{st,t'} = sum_{s'} softmax_{s'}(q_st . k_{s't'} / sqrt(c)) v_{s't'}                            (Eq. 3)
        z'_st     = z_st + W_o sum_{t'} softmax_{t'}(W_q y_{st,t} . W_k y_{st,t'} / sqrt(c)) W_v y_{st,t'}   (Eq. 4, 5)

    The class token attends to all tokens, itself included, and is not a key for the patches.

    Shape: ``(b, 1 + t * h * w, d)`` -> same.
    Source: Patrick et al., Keeping Your Eye on the Ball, arXiv:2106.05392, section 3.1, without its approximation.
    """

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads)
        self.path_q = nn.Linear(dim, dim)
        self.path_kv = nn.Linear(dim, 2 * dim)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend within every frame, then along the trajectories."""
        q, k, v = rearrange(self.attn.project(self.attn.norm(x)), "b n qkv a c -> qkv b a n c")
        cls_branch = F.scaled_dot_product_attention(q[:, :, :1], k, v)
        cls_branch = rearrange(cls_branch, "b a 1 c -> b 1 (a c)")

        by_frame = "b a (t s) c -> b (a t) s c"  # ONNX takes attention of four axes only
        k = rearrange(k[:, :, 1:], by_frame, t=grid.t)
        v = rearrange(v[:, :, 1:], by_frame, t=grid.t)
        queries = repeat(q[:, :, 1:], "b a n c -> b (a t) n c", t=grid.t)
        paths = F.scaled_dot_product_attention(queries, k, v)
        paths = rearrange(paths, "b (a t) n c -> b n t (a c)", t=grid.t)

        framewise = rearrange(paths, "b (t s) u d -> b t s u d", t=grid.t)
        now = torch.diagonal(framewise, dim1=1, dim2=3)  # results for the patch's own frame, u = t: (b, s, d, t)
        now = rearrange(now, "b s d t -> b (t s) d")
        q = rearrange(self.path_q(now), "b n (a c) -> (b n) a 1 c", a=self.attn.num_heads)
        k, v = rearrange(self.path_kv(paths), "b n t (kv a c) -> kv (b n) a t c", kv=2, a=self.attn.num_heads)
        patch_branch = F.scaled_dot_product_attention(q, k, v)
        patch_branch = rearrange(patch_branch, "(b n) a 1 c -> b n (a c)", b=x.shape[0])
        return x + self.attn.proj(torch.cat((cls_branch, patch_branch), dim=1))
