"""The transformer block: an attention scheme, then an MLP."""

from collections.abc import Callable
from typing import Any, Literal, get_args

from timm.layers.activations import QuickGELU
from timm.layers.drop import DropPath
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from lit_video.attention import Grid, Scheme
from lit_video.network.style import Gelu

Checkpointing = Literal["none", "attention", "block"]


class MLP(nn.Module):
    """The branch W2 GELU(W1 LN(x)), without its residual. Shape: ``(..., d) -> (..., d)``.

    Args:
        dim: channels of a token.
        ratio: hidden channels divided by ``dim``.
        eps: epsilon of the layer norm.
        gelu: approximation of the GELU: ``none`` (timm, TimeSformer, X-ViT), ``tanh`` (ViViT's release) or ``quick``
            (OpenAI's CLIP).
    """

    def __init__(self, dim: int, ratio: float = 4.0, eps: float = 1e-6, *, gelu: Gelu = "none") -> None:
        super().__init__()
        hidden = round(dim * ratio)
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.fc1 = nn.Linear(dim, hidden)
        self.act = QuickGELU() if gelu == "quick" else nn.GELU(approximate=gelu)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the branch without its residual."""
        return self.fc2(self.act(self.fc1(self.norm(x))))


class Layer(nn.Module):
    """Base of encoder layers, which keep their activations in training or recompute them in the backward pass."""

    checkpointing: Checkpointing = "none"
    keeps_patches = True  # its output has the tokens of its input, patches last

    def keep(self, part: Checkpointing, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """Call a function; keep only its arguments if ``checkpointing`` is ``part`` (arXiv:1604.06174)."""
        if self.checkpointing == part and self.training:
            return checkpoint(function, *args, use_reentrant=False)
        return function(*args)


class Block(Layer):
    """An attention scheme, then an MLP, with stochastic depth per clip. Shape: ``(b, n, d) -> (b, n, d)``.

    Stochastic depth drops a clip's MLP branch, and its scheme branch unless the scheme drops parts of that branch;
    ``scale_by_keep``: see :class:`~lit_video.network.style.Style`.
    """

    def __init__(self, scheme: Scheme, mlp: MLP, drop_path_rate: float = 0.0, *, scale_by_keep: bool = True) -> None:
        super().__init__()
        self.scheme = scheme
        self.mlp = mlp
        self.drop_path = DropPath(drop_path_rate, scale_by_keep)
        self.whole_scheme = not (drop_path_rate and scheme.drop_branches(self.drop_path))

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Apply one encoder layer."""
        return self.keep("block", self._layer, x, grid)

    def _layer(self, x: Tensor, grid: Grid) -> Tensor:
        y = self.keep("attention", self.scheme, x, grid)
        if self.training and self.whole_scheme and self.drop_path.drop_prob:
            y = x + self.drop_path(y - x)
        return y + self.drop_path(self.mlp(y))


def set_grad_checkpointing(network: nn.Module, enable: bool | Checkpointing = True) -> Checkpointing:
    """Recompute each layer's activations in the backward pass: less memory for more time, the same gradients.

    ``attention`` (the scheme with norms and projections) saves about half of the activations for a tenth more time;
    ``block``, or ``True``, saves all but each layer's input for a third more time; ``none``, or ``False``, saves
    nothing. Return the part that is recomputed.

    Raises:
        ValueError: there is no such part, or the network has no layers of this package.
    """
    parts: dict[bool | Checkpointing, Checkpointing] = {True: "block", False: "none"}
    part = parts[enable] if isinstance(enable, bool) else enable
    if part not in get_args(Checkpointing):
        raise ValueError(f"activation_checkpointing is {part!r}, expected {', '.join(get_args(Checkpointing))}")

    layers = [module for module in network.modules() if isinstance(module, Layer)]
    if not layers and part != "none":
        raise ValueError(f"activation_checkpointing is {part}, but the network has no transformer blocks")
    for layer in layers:
        layer.checkpointing = part
    return part
