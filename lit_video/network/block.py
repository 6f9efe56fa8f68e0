"""The transformer block: an attention scheme, then an MLP."""

from __future__ import annotations

from timm.layers.drop import DropPath
from torch import Tensor, nn

from lit_video.attention import Grid, Scheme


class MLP(nn.Module):
    """x + W2 GELU(W1 LN(x)), the residual left to the caller; exact GELU. Shape: ``(..., d) -> (..., d)``."""

    def __init__(self, width: int, ratio: float = 4.0, eps: float = 1e-6, dropout: float = 0.0) -> None:
        super().__init__()
        hidden = round(width * ratio)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(hidden, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """The branch without its residual."""
        return self.drop(self.fc2(self.drop(self.act(self.fc1(self.norm(x))))))


class Block(nn.Module):
    """Scheme and MLP with stochastic depth over clips. Shape: ``(b, n, d) -> (b, n, d)``.

    Stochastic depth drops the whole change that a branch makes to a clip, whatever branches the scheme has inside.
    """

    def __init__(self, scheme: Scheme, mlp: MLP, drop_path: float = 0.0) -> None:
        super().__init__()
        self.scheme = scheme
        self.mlp = mlp
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """One encoder layer."""
        x = x + self.drop_path(self.scheme(x, grid) - x) if self._drops else self.scheme(x, grid)
        return x + self.drop_path(self.mlp(x))

    @property
    def _drops(self) -> bool:
        return self.training and bool(self.drop_path.drop_prob)
