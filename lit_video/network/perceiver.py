"""Perceiver: latents read the clip's tokens by cross-attention, then attend to each other."""

import torch
from torch import Tensor, nn

from lit_video.attention import Bottleneck, Grid, Joint
from lit_video.network.aggregation import LinearHead
from lit_video.network.block import MLP, Layer, Style, init_flax
from lit_video.network.embedding import ClipSize, JointEmbedding
from lit_video.network.parts import Parts
from lit_video.network.transformer import VideoTransformer, mean_token
from lit_video.network.vit import ViTSize, encoder, set_eps

# query, key and value are drawn each by itself, as in JAX, in which its authors wrote it
_STYLE = Style(init_flax)


class Latents(Layer):
    """Latents that read the tokens ``reads`` times; an equal share of the self-attention layers follows each read.

    Shape: tokens ``(b, n, d) -> (b, latents, d)``.
    Source: Perceiver, arXiv:2103.03206, section 3.1 (weights are not shared between reads).
    """

    keeps_patches = False

    def __init__(self, size: ViTSize, num_latents: int, reads: int = 1, *, drop_path_rate: float = 0.0) -> None:
        super().__init__()
        if reads < 1 or size.depth % reads:
            raise ValueError(f"reads is {reads}, expected a divisor of the depth {size.depth}")
        if num_latents < 1:
            raise ValueError(f"num_latents is {num_latents}, expected at least 1")
        self.latents = nn.Parameter(torch.empty(1, num_latents, size.embed_dim))
        nn.init.trunc_normal_(self.latents, std=0.02)
        self.reads = nn.ModuleList(Bottleneck(size.embed_dim, size.num_heads) for _ in range(reads))
        gelu = _STYLE.with_gelu(size.gelu).gelu
        self.mlps = nn.ModuleList(MLP(size.embed_dim, size.mlp_ratio, gelu=gelu) for _ in range(reads))
        init_flax(self.reads, size.embed_dim)
        init_flax(self.mlps, size.embed_dim)

        layers = encoder(size, lambda i: Joint(size.embed_dim, size.num_heads), drop_path_rate, style=_STYLE)
        self.layers = nn.ModuleList(layers)
        set_eps(self, size)

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Return the latents after all reads and layers."""
        u = self.latents.expand(x.shape[0], -1, -1)
        share = len(self.layers) // len(self.reads)
        for number in range(len(self.reads)):
            u = self.keep("block", self._read, number, u, x)
            for layer in self.layers[number * share : (number + 1) * share]:
                u = layer(u, Grid(u.shape[1], 1, 1))
        return u

    def _read(self, number: int, u: Tensor, x: Tensor) -> Tensor:
        u = self.keep("attention", self.reads[number], u, x)
        return u + self.mlps[number](u)


def perceiver(
    size: ViTSize,
    classes: int,
    clip: ClipSize,
    *,
    num_latents: int = 256,
    reads: int = 1,
    dropout: float = 0.0,
    drop_path_rate: float = 0.0,
    parts: Parts | None = None,
) -> VideoTransformer:
    """Build a video transformer with a Perceiver bottleneck, as in :class:`lit_video.modules.Perceiver`."""
    parts = parts or Parts()
    embed = parts.embed(JointEmbedding, clip, size.embed_dim, cls=False)
    blocks = [Latents(size, num_latents, reads, drop_path_rate=drop_path_rate)]
    head = LinearHead(size.embed_dim, classes, dropout)
    network = VideoTransformer(embed, blocks, mean_token, aggregate=head, size=size)
    return parts.put_into(network, clip, classes, dropout=dropout)
