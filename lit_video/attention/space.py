"""Spatial-only attention: the baseline of all three papers."""

from einops import rearrange
from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme


class Space(Scheme):
    """Attention among the tokens of each frame.

        z'_t = z_t + MSA(LN(z_t)),   t = 1..T

    Shape: ``(b, t * m, d) -> (b, t * m, d)``; a class token per frame, or none.
    Source: X-ViT, arXiv:2106.05968, Eq. 5; TimeSformer, arXiv:2102.05095, scheme S.
    """

    class_tokens = "frame"
    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend within frames."""
        frames = rearrange(x, "b (t m) d -> (b t) m d", t=grid.t)
        return x + rearrange(self.attn(frames), "(b t) m d -> b (t m) d", t=grid.t)
