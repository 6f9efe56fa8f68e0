"""Factorised dot-product attention: ViViT's model 4."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme


class FactorisedHeads(Scheme):
    """Attention over time in half of the heads and over space in the others, with joint attention's parameters.

        y_t = Attention(Q, K_t, V_t)   over the t tokens of one location    first half of the heads
        y_s = Attention(Q, K_s, V_s)   over the h w tokens of one frame     second half of the heads
        z'  = z + Concat(y_t, y_s) W_o

    Shape: ``(b, t * h * w, d)`` -> same; no class token.
    Source: ViViT, arXiv:2103.15691, model 4.
    Unlike the paper, which concatenates space first: the first half of the heads attends over time, as in the release.
    """

    class_tokens = "none"

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        if num_heads % 2:
            raise ValueError(f"num_heads is {num_heads}, expected an even number: half for time, half for space")
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend along both axes at once."""
        qkv = self.attn.project(self.attn.norm(x))
        time, space = rearrange(qkv, "b (t s) qkv a c -> b t s qkv a c", t=grid.t).chunk(2, dim=-2)

        q, k, v = rearrange(time, "b t s qkv a c -> qkv (b s) a t c")
        y_time = F.scaled_dot_product_attention(q, k, v)
        y_time = rearrange(y_time, "(b s) a t c -> b (t s) (a c)", s=grid.h * grid.w)

        q, k, v = rearrange(space, "b t s qkv a c -> qkv (b t) a s c")
        y_space = F.scaled_dot_product_attention(q, k, v)
        y_space = rearrange(y_space, "(b t) a s c -> b (t s) (a c)", t=grid.t)

        return x + self.attn.proj(torch.cat((y_time, y_space), dim=-1))
