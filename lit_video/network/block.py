"""The transformer block: an attention scheme, then an MLP."""

from typing import Literal

from timm.layers.drop import DropPath
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from lit_video.attention import Grid, Scheme

Gelu = Literal["none", "tanh"]


class MLP(nn.Module):
    """x + W2 GELU(W1 LN(x)), the residual left to the caller. Shape: ``(..., d) -> (..., d)``.

    Args:
        width: channels of a token.
        ratio: hidden channels over ``width``.
        eps: epsilon of the layer norm.
        gelu: approximation of the GELU: ``none`` (timm, TimeSformer, X-ViT) or ``tanh`` (ViViT's release).
    """

    def __init__(self, width: int, ratio: float = 4.0, eps: float = 1e-6, gelu: Gelu = "none") -> None:
        super().__init__()
        hidden = round(width * ratio)
        self.norm = nn.LayerNorm(width, eps=eps)
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU(approximate=gelu)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """The branch without its residual."""
        return self.fc2(self.act(self.fc1(self.norm(x))))


class Block(nn.Module):
    """Scheme and MLP with stochastic depth over clips. Shape: ``(b, n, d) -> (b, n, d)``.

    Stochastic depth drops all that the MLP adds to a clip, and all that the scheme adds, unless the scheme drops its
    branches one by one.
    """

    def __init__(self, scheme: Scheme, mlp: MLP, drop_path: float = 0.0) -> None:
        super().__init__()
        self.scheme = scheme
        self.mlp = mlp
        self.drop_path = DropPath(drop_path)
        self.whole_scheme = not (drop_path and scheme.drop_branches(self.drop_path))
        self.checkpointing = False

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """One encoder layer."""
        if self.checkpointing and self.training:
            return checkpoint(self._layer, x, grid, use_reentrant=False)
        return self._layer(x, grid)

    def _layer(self, x: Tensor, grid: Grid) -> Tensor:
        drops = self.training and self.whole_scheme and bool(self.drop_path.drop_prob)
        x = x + self.drop_path(self.scheme(x, grid) - x) if drops else self.scheme(x, grid)
        return x + self.drop_path(self.mlp(x))


def checkpoint_blocks(network: nn.Module) -> None:
    """Keep only the input of each block in training and compute the rest again: less memory, about a third more time.

    Raises:
        ValueError: the network has no transformer blocks.
    """
    blocks = [module for module in network.modules() if isinstance(module, Block)]
    if not blocks:
        raise ValueError("activation_checkpointing is on, but the network has no transformer blocks")
    for block in blocks:
        block.checkpointing = True
