"""Factorised self-attention: ViViT's model 3."""

from typing import Literal

from torch import Tensor, nn

from lit_video.attention.scheme import Attention, Grid, Scheme, ZeroLinear

StepOrder = Literal["space_time", "time_space"]


class Factorised(Scheme):
    """Attention over space, then over time; each step has its own weights and residual.

        y  = z + MSA_s(LN(z))   over the h w tokens of one frame      (Eq. 4)
        z' = y + MSA_t(LN(y))   over the t tokens of one location     (Eq. 5)

    ``time_space`` swaps the steps. The projection after MSA_t starts at zero, so training starts from the image model;
    its queries, keys and values start from the image model's, its norm as a new one, as in the release.

    With ``zero`` all weights of MSA_t start at zero, queries, keys and values too (section 3.4). Its matrices never
    learn: the gradient of the output projection is a product with the values, which are zero, and the gradient of the
    values is a product with the output projection, which is zero. Only the projection's bias learns, so no two frames
    are ever compared, and the order of the steps matters little whatever the data.

    Shape: ``(b, t * h * w, d)`` -> same; no class token.
    Source: ViViT, arXiv:2103.15691, model 3; ``zero``: section 3.4.
    Unlike the paper without ``zero``: queries, keys and values of MSA_t do not start at zero.
    """

    class_tokens = "none"
    fresh = ("time_attn.norm",)

    def __init__(self, dim: int, num_heads: int, order: StepOrder = "space_time", *, zero: bool = False) -> None:
        super().__init__()
        if order not in ("space_time", "time_space"):
            raise ValueError(f"order is {order!r}, expected space_time or time_space")
        self.attn = Attention(dim, num_heads)
        self.time_attn = Attention(dim, num_heads, qkv=ZeroLinear if zero else nn.Linear, proj=ZeroLinear)
        self.axes = order.split("_")

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Attend along one axis, then the other."""
        for axis in self.axes:
            if axis == "space":
                x = x + self.attn.over(x, "b (t s) d -> (b t) s d", t=grid.t, s=grid.h * grid.w)
            else:
                x = x + self.time_attn.over(x, "b (t s) d -> (b s) t d", t=grid.t, s=grid.h * grid.w)
        return x
