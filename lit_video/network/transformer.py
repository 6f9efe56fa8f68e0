"""The video transformer that all models share: embed -> blocks -> read out -> aggregate."""

from collections.abc import Iterable
from typing import Literal

from torch import Tensor, nn

from lit_video.network.embedding import Embedding
from lit_video.network.readout import Readout


class VideoTransformer(nn.Module):
    """Tokens of a clip through a stack of blocks, read out and classified.

    Shape: clip ``(b, 3, t, height, width)``, float, already normalised -> logits ``(b, classes)``.

    Args:
        embed: clip to tokens and their grid.
        blocks: encoder layers, each ``(tokens, grid) -> tokens``.
        readout: tokens to features, see :mod:`lit_video.network.readout`.
        aggregate: features to logits.
    """

    def __init__(self, embed: Embedding, blocks: Iterable[nn.Module], readout: Readout, aggregate: nn.Module) -> None:
        super().__init__()
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(embed.width, eps=1e-6)
        self.readout = readout
        self.aggregate = aggregate

    def features(self, clip: Tensor) -> Tensor:
        """Features after the final norm: ``(b, d)``, or ``(b, t, d)`` where ``aggregate`` takes frames."""
        x, grid = self.embed(clip)
        for block in self.blocks:
            x = block(x, grid)
        return self.readout(x, grid, self.norm)

    def forward(self, clip: Tensor) -> Tensor:
        """Logits of a clip."""
        return self.aggregate(self.features(clip))


def freeze(network: nn.Module, layers: int | Literal["backbone"]) -> None:
    """Freeze patches, positions and the first blocks in training.

    Args:
        network: a :class:`VideoTransformer`.
        layers: number of blocks; or ``backbone``, everything before the classifier.

    Raises:
        ValueError: it is another network, or has fewer blocks.
    """
    if not isinstance(network, VideoTransformer):
        raise ValueError(f"freeze is {layers}, but the network has no transformer blocks")
    if isinstance(layers, int) and not 0 <= layers <= len(network.blocks):
        raise ValueError(f"freeze is {layers}, the network has {len(network.blocks)} blocks")
    count = layers if isinstance(layers, int) else len(network.blocks)
    for part in (network.embed, *network.blocks[:count], *([network.norm] if layers == "backbone" else [])):
        part.requires_grad_(False)
