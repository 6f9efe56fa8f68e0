"""Cross-attention bottleneck: the Perceiver's latents read the tokens."""

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


class Bottleneck(nn.Module):
    """Cross-attention from a few latents to all tokens of the clip, at a cost linear in the number of tokens.

        u' = u + MCA(LN(u), LN(z))   queries from the latents u, keys and values from the tokens z

    Shape: l latents ``(b, l, d)`` and tokens ``(b, n, d)`` -> latents ``(b, l, d)``.
    Source: Perceiver, arXiv:2103.03206, section 3.1; survey of video transformers, arXiv:2201.05991, section 5.2.4.
    Unlike the Perceiver: latents are as wide as the tokens, and cross-attention has as many heads as self-attention.
    """

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        if dim % num_heads:
            raise ValueError(f"dim {dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.token_norm = nn.LayerNorm(dim, eps=1e-6)
        self.q = nn.Linear(dim, dim)
        self.kv = nn.Linear(dim, 2 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, latents: Tensor, tokens: Tensor) -> Tensor:
        """Read the tokens."""
        q = rearrange(self.q(self.norm(latents)), "b l (a c) -> b a l c", a=self.num_heads)
        k, v = rearrange(self.kv(self.token_norm(tokens)), "b n (kv a c) -> kv b a n c", kv=2, a=self.num_heads)

        y = F.scaled_dot_product_attention(q, k, v)
        return latents + self.proj(rearrange(y, "b a l c -> b l (a c)"))
