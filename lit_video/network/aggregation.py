"""From one token per frame to logits: X-ViT's temporal averaging and temporal attention (TA)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lit_video.attention import Heads
from lit_video.network.block import MLP


class TemporalMean(nn.Module):
    """Mean over frames, then a linear classifier. Shape: ``(b, t, d) -> (b, classes)``.

    Blind to the order of the frames by construction.
    Source: X-ViT, arXiv:2106.05968, section 3, option (a). The released code averages per-frame logits: the same in
    eval mode, where the classifier is affine.
    """

    def __init__(self, width: int, classes: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(width, classes)
        nn.init.normal_(self.head.weight, std=0.001)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Classify the mean frame token."""
        return self.head(self.drop(x)).mean(1)


class TemporalLayer(nn.Module):
    """Pre-norm transformer layer over frame tokens: qkv without bias, eps 1e-5 (released code)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attn = Heads(width, heads, qkv_bias=False, eps=1e-5)
        self.mlp = MLP(width, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        """``(b, 1 + t, d) -> (b, 1 + t, d)``."""
        x = x + self.attn(x)
        return x + self.mlp(x)


class TemporalAttention(nn.Module):
    """Temporal attention (TA): a class token and the frame tokens through ``depth`` transformer layers.

    z_final = MLPHead(TransformerLayer^depth([z_cls; z_1; ...; z_T])_0).  Shape: ``(b, t, d) -> (b, classes)``.

    It has no positions: order reaches it only through the frame tokens.
    Source: X-ViT, arXiv:2106.05968, section 3, option (b).
    Unlike the paper, as in the released code: every token attends every token, and the classifier has a hidden layer.
    """

    def __init__(
        self, width: int, classes: int, depth: int, heads: int, hidden: int | None = None, dropout: float = 0.5
    ) -> None:
        super().__init__()
        hidden = hidden or width
        self.drop = nn.Dropout(dropout)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.layers = nn.ModuleList(TemporalLayer(width, heads) for _ in range(depth))
        self.head = nn.Sequential(
            nn.LayerNorm(width, eps=1e-5),
            nn.Linear(width, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Classify the sequence of frame tokens."""
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), self.drop(x)), dim=1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])
