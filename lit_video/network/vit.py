"""Sizes of Vision Transformers and their initialisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import nn

SizeName = Literal["Ti", "S", "B", "L"]


@dataclass(frozen=True)
class ViTSize:
    """Width ``d``, depth ``L`` and heads of a Vision Transformer (arXiv:2010.11929, Table 1; Ti: DeiT)."""

    width: int
    depth: int
    heads: int
    mlp_ratio: float = 4.0

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not divisible by heads {self.heads}")


SIZES: dict[SizeName, ViTSize] = {
    "Ti": ViTSize(192, 12, 3),
    "S": ViTSize(384, 12, 6),
    "B": ViTSize(768, 12, 12),
    "L": ViTSize(1024, 24, 16),
}


def init_backbone(module: nn.Module) -> None:
    """Xavier-uniform weights and zero biases for a linear layer, for ``Module.apply``.

    The original ViT's initialisation. It scales with the width: timm's fixed 0.02, close to it at 768, is too small for
    the narrow models of the embedded scale to learn from scratch.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
