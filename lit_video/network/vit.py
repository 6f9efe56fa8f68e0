"""Sizes of Vision Transformers and their layers."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Annotated, Any, Literal

import torch
from torch import nn

from lit_video.attention import Scheme
from lit_video.network.block import MLP, TIMM_STYLE, Block, Gelu, Style
from lit_video.utils.arguments import Count, Positive, Range, Whole, check_fields
from lit_video.utils.files import MOST_LAYERS

SizeName = Literal["Ti", "S", "B", "L", "H"]


@dataclass(frozen=True)
class ViTSize:
    """Width ``d``, depth ``L`` and heads of a Vision Transformer (arXiv:2010.11929, Table 1; Ti: DeiT).

    Args:
        embed_dim: channels of a token.
        depth: layers.
        num_heads: heads of each layer.
        mlp_ratio: hidden channels of the MLP divided by ``embed_dim``.
        eps: epsilon of the layer norms; ``None`` for 1e-6.
        gelu: see :class:`~lit_video.network.block.MLP`; ``None`` for the family's choice.
        norm_pre: whether a norm stands before the first layer (CLIP, arXiv:2103.00020).
        registers: register tokens beside the class token (arXiv:2309.16588).
    """

    embed_dim: Count
    depth: Annotated[int, Range(1, MOST_LAYERS)]
    num_heads: Count
    _: KW_ONLY
    mlp_ratio: Positive = 4.0
    eps: Positive | None = None
    gelu: Gelu | None = None
    norm_pre: bool | None = None
    registers: Whole | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.embed_dim % self.num_heads:
            raise ValueError(f"embed_dim {self.embed_dim} is not divisible by num_heads {self.num_heads}")

    def parts(self) -> dict[str, Any]:
        """Return the fields, with ``None`` for ``eps`` 1e-6, ``norm_pre`` false and ``registers`` 0."""
        return {name: None if value in (1e-6, 0) else value for name, value in asdict(self).items()}


SIZES: dict[str, ViTSize] = {
    "Ti": ViTSize(192, 12, 3),
    "S": ViTSize(384, 12, 6),
    "B": ViTSize(768, 12, 12),
    "L": ViTSize(1024, 24, 16),
    "H": ViTSize(1280, 32, 16),
}


def vit_size(size: str | ViTSize | Mapping[str, Any]) -> ViTSize:
    """Return a size by its name, or by its fields as a checkpoint stores them."""
    if isinstance(size, ViTSize):
        return size
    if isinstance(size, Mapping):
        return ViTSize(**size)
    if size not in SIZES:
        raise ValueError(f"size is {size}, expected {', '.join(SIZES)}, or embed_dim, depth and num_heads")
    return SIZES[size]


def encoder(
    size: ViTSize, scheme: Callable[[int], Scheme], drop_path_rate: float = 0.0, *, style: Style = TIMM_STYLE
) -> list[Block]:
    """Build the encoder layers of a size, freshly initialised; ``scheme(i)`` builds the attention of layer i.

    Stochastic depth rises linearly from 0 in the first layer to ``drop_path_rate`` in the last, as in all three
    releases. (ViViT's Eq. 10, with l / L of the rate in layer l of L, leaves open whether l starts at 0 or 1.)
    ``style`` is the model family's; if ``size`` names a GELU, it replaces that of the style.
    """
    if not 0 <= drop_path_rate < 1:
        raise ValueError(f"drop_path_rate is {drop_path_rate}, expected 0 to less than 1")
    style = style.with_gelu(size.gelu)
    rates = torch.linspace(0, drop_path_rate, size.depth, device="cpu").tolist()

    blocks = []
    for i, rate in enumerate(rates):
        mlp = MLP(size.embed_dim, size.mlp_ratio, gelu=style.gelu)
        blocks.append(Block(scheme(i), mlp, rate, scale_by_keep=style.scale_by_keep))

    layers = nn.ModuleList(blocks)
    set_eps(layers, size)
    for module in layers.modules():
        if isinstance(module, Scheme) and size.registers:
            if not module.num_prefix_tokens:
                raise ValueError(f"registers is {size.registers}, but {type(module).__name__} takes no register tokens")
            module.num_prefix_tokens = 1 + size.registers

    for block in blocks:
        style.init(block, size.embed_dim)
    return blocks


def set_eps(network: nn.Module, size: ViTSize) -> None:
    """Set the epsilon of all layer norms, if ``size`` has one."""
    if size.eps is None:
        return

    for module in network.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = size.eps
