"""Joint space-time attention."""

from torch import Tensor

from lit_video.attention.scheme import Attention, Grid, Scheme


class Joint(Scheme):
    """Attention among all tokens of the clip.

        z' = z + MSA(LN(z))

    Shape: ``(b, n, d) -> (b, n, d)``, with any layout of class tokens.
    Source: TimeSformer, arXiv:2102.05095, scheme ST; ViViT, arXiv:2103.15691, model 1.
    """

    num_prefix_tokens = 1

    def __init__(self, dim: int, num_heads: int) -> None:
        super().__init__()
        self.attn = Attention(dim, num_heads)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend over the whole clip."""
        return x + self.attn(x)
