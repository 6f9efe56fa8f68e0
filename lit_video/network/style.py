"""Initialisation, GELU and stochastic depth of transformer layers, as in the two programs that released models."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from torch import nn

from lit_video.attention import ZeroLinear

Gelu = Literal["none", "tanh", "quick"]
# matrices in the weight of a projection, by the layer's name: query, key and value, or key and value
MATRICES = {"qkv": 3, "kv": 2, "path_kv": 2}
RELEASED_WIDTH = 768  # channels of ViT-B, of which all released X-ViT and TimeSformer models are


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
