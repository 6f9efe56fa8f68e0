"""Exact attention over a local window of frames: what X-ViT's mixing approximates."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from lit_video.attention.heads import Grid, Heads, Scheme


class LocalWindow(Scheme):
    """Every token attends all tokens of the frames up to ``window`` away.

    y_{s,t} = sum_{t' = t - w .. t + w} sum_{s'} softmax(q_{s,t} . k_{s',t'} / sqrt(c)) v_{s',t'}       (Eq. 7)

    with one softmax over all keys of the window, which ends at the clip's ends. It costs 2 w + 1 times the attention
    products of :class:`~lit_video.attention.Mixing`.

    Shape: ``(b, t * m, d) -> (b, t * m, d)``; each frame carries its own class token, or none does.
    Source: X-ViT, arXiv:2106.05968, section 3 (the lower limit of the sum in Eq. 7 is a misprint).

    Raises:
        ValueError: ``window`` is negative, or ``width`` is not a multiple of ``heads``.
    """

    def __init__(self, width: int, heads: int, window: int = 1) -> None:
        super().__init__()
        if window < 0:
            raise ValueError(f"window is {window}, expected 0, 1, 2, ...")
        self.attn = Heads(width, heads)
        self.window = window

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend each frame's window; a loop over frames, so that no key is masked or copied."""
        z = rearrange(self.attn.project(self.attn.norm(x)), "b (t m) qkv a c -> qkv t b a m c", t=grid.t)
        frames = [self._frame(z, t) for t in range(grid.t)]
        return x + self.attn.proj(torch.cat(frames, dim=1))

    def _frame(self, z: Tensor, t: int) -> Tensor:
        q, (k, v) = z[0, t], z[1:, max(t - self.window, 0) : t + self.window + 1].unbind(0)
        k, v = (rearrange(y, "j b a m c -> b a (j m) c") for y in (k, v))
        return rearrange(F.scaled_dot_product_attention(q, k, v), "b a m c -> b m (a c)")
