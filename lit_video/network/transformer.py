"""The video transformer that all models share: embed -> blocks -> norm -> frame tokens -> aggregate."""

from __future__ import annotations

from collections.abc import Iterable

from einops import rearrange
from torch import Tensor, nn

from lit_video.network.block import Block
from lit_video.network.embedding import FrameEmbedding


class VideoTransformer(nn.Module):
    """Class tokens of the frames, read out by ``aggregate``.

    Shape: clip ``(b, 3, t, height, width)``, float, already normalised -> logits ``(b, classes)``.
    """

    def __init__(self, embed: FrameEmbedding, blocks: Iterable[Block], aggregate: nn.Module, width: int) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.aggregate = aggregate

    def features(self, clip: Tensor) -> Tensor:
        """Class token of every frame after the final norm: ``(b, t, d)``."""
        x, grid = self.embed(clip)
        for block in self.blocks:
            x = block(x, grid)
        return self.norm(rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, 0])

    def forward(self, clip: Tensor) -> Tensor:
        """Logits of a clip."""
        return self.aggregate(self.features(clip))
