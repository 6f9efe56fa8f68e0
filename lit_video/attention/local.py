"""Exact attention over a local window of frames; X-ViT's mixing approximates it."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme


class LocalWindow(Scheme):
    """Exact attention to all tokens of the frames up to ``window`` away.

        y_{s,t} = sum_{t' = t - w .. t + w} sum_{s'} softmax(q_{s,t} . k_{s',t'} / sqrt(c)) v_{s',t'}       (Eq. 7)

    One softmax runs over all keys. w is ``window``; frames beyond the clip's ends are left out. Attention products cost
    2 w + 1 times those of :class:`~lit_video.attention.Mixing`. With ``causal`` the window ends at the token's frame.

    Shape: ``(b, t * m, d) -> (b, t * m, d)``; each frame carries its own class token, or none does.
    Source: X-ViT, arXiv:2106.05968, section 3 (the lower limit of the sum in Eq. 7 is a misprint).
    """

    class_tokens = "frame"
    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int, window: int = 1, *, causal: bool = False) -> None:
        super().__init__()
        if window < 0:
            raise ValueError(f"window is {window}, expected 0, 1, 2, ...")
        self.attn = Attention(dim, num_heads)
        self.window = window
        self.causal = causal

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend each frame's window, looping over frames so that no key is masked or copied."""
        q, kv = self.project(x, grid)
        return x + self.attend(q, kv)

    def project(self, x: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        """Return every frame's queries ``(t, b, a, m, c)``, keys and values ``(2, t, b, a, m, c)``."""
        z = rearrange(self.attn.project(self.attn.norm(x)), "b (t m) qkv a c -> qkv t b a m c", t=grid.t)
        return z[0], z[1:]

    def attend(self, q: Tensor, kv: Tensor) -> Tensor:
        """Return the branch ``(b, t * m, d)``; keys and values may begin at an earlier frame than queries."""
        before = kv.shape[1] - q.shape[0]
        frames: list[Tensor] = []
        for i in range(q.shape[0]):
            t = before + i
            first = max(t - self.window, 0)
            last = t if self.causal else t + self.window
            k, v = rearrange(kv[:, first : last + 1], "kv j b a m c -> kv b a (j m) c")
            y = F.scaled_dot_product_attention(q[i], k, v)
            frames.append(rearrange(y, "b a m c -> b m (a c)"))
        return self.attn.proj(torch.cat(frames, dim=1))
