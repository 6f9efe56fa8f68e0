"""The transformer block: an attention scheme, then an MLP, in the style of one of the programs that released models."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from timm.layers.activations import QuickGELU
from timm.layers.drop import DropPath
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from lit_video.attention import Grid, Scheme, ZeroLinear

Gelu = Literal["none", "tanh", "quick"]
# matrices in the weight of a projection, by the layer's name: query, key and value, or key and value
MATRICES = {"qkv": 3, "kv": 2, "path_kv": 2}
RELEASED_WIDTH = 768  # channels of ViT-B, of which all released X-ViT and TimeSformer models are
Checkpointing = Literal["none", "attention", "block"]


@dataclass(frozen=True)
class Style:
    """Choices that a release takes over from its framework.

    Args:
        init: initialises a layer of a given width, in place.
        gelu: see :class:`~lit_video.network.block.MLP`.
        scale_by_keep: whether stochastic depth divides a branch that it keeps by the probability of keeping it.
    """

    init: Callable[[nn.Module, int], None]
    gelu: Gelu = "none"
    scale_by_keep: bool = True

    def with_gelu(self, gelu: Gelu | None) -> "Style":
        """Return the style with another GELU, or unchanged for ``None``."""
        return replace(self, gelu=gelu) if gelu else self


def init_timm(module: nn.Module, dim: int) -> None:
    """Draw weights from a truncated normal distribution of deviation 0.02 at width 768; biases are zero.

    Source: the releases of X-ViT (``transformers/vit.py``) and TimeSformer (``models/vit.py``), which follow timm.
    Unlike there, the deviation is 0.02 (768 / width)^0.5: at any width 0.02 would be too small for narrow models that
    learn from scratch, and all released models have width 768.
    """
    std = 0.02 * (RELEASED_WIDTH / dim) ** 0.5
    for part in module.modules():
        if isinstance(part, nn.Linear) and not isinstance(part, ZeroLinear):
            nn.init.trunc_normal_(part.weight, std=std)
            _zero_bias(part)


def init_flax(module: nn.Module, dim: int) -> None:
    """Draw Xavier-uniform weights, of query, key and value each by itself; biases are zero.

    Source: ViViT's release (``projects/vivit/model.py``) and the original ViT (arXiv:2010.11929). There the biases of
    the MLP have a deviation of 1e-6.
    """
    for name, part in module.named_modules():
        if isinstance(part, nn.Linear) and not isinstance(part, ZeroLinear):
            matrices = MATRICES.get(name.rpartition(".")[2], 1)
            for matrix in part.weight.detach().chunk(matrices):
                nn.init.xavier_uniform_(matrix)
            _zero_bias(part)


def _zero_bias(layer: nn.Linear) -> None:
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


TIMM_STYLE = Style(init_timm)
# stochastic depth as in EncoderBlock of ViViT's release: neither training nor test scales a branch
FLAX_STYLE = Style(init_flax, gelu="tanh", scale_by_keep=False)


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
    ``scale_by_keep``: see :class:`~lit_video.network.block.Style`.
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
