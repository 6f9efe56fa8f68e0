"""The video transformer that all models share: embed -> blocks -> read out -> aggregate."""

from collections.abc import Callable, Iterable
from typing import Literal

from einops import rearrange
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.network.block import Checkpointing, set_grad_checkpointing
from lit_video.network.embedding import Embedding
from lit_video.network.vit import ViTSize

# (tokens ``(b, n, d)``, their grid, the final layer norm) -> features ``(b, d)`` or ``(b, t, d)``
ReadTokens = Callable[[Tensor, Grid, nn.Module], Tensor]


class VideoTransformer(nn.Module):
    """A clip's tokens pass through a stack of blocks, are read out and classified.

    Shape: clip ``(b, 3, t, height, width)``, float, already normalised -> logits ``(b, classes)``.

    Args:
        embed: clip to tokens and their grid.
        blocks: encoder layers, each ``(tokens, grid) -> tokens``.
        readout: tokens to features, one of the functions below, or a module.
        aggregate: features to logits.
        size: width, depth and heads of the blocks, register tokens and norms.

    Attributes:
        parts: names of the parts that are the user's own, see :class:`~lit_video.network.parts.Parts`.
    """

    parts: tuple[str, ...] = ()

    def __init__(
        self, embed: Embedding, blocks: Iterable[nn.Module], readout: ReadTokens, *, aggregate: nn.Module, size: ViTSize
    ) -> None:
        super().__init__()
        embed.extend(size)
        self.size = size
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(embed.embed_dim, eps=size.eps or 1e-6)
        self.readout: ReadTokens = readout
        self.aggregate = aggregate

    @property
    def num_prefix_tokens(self) -> int:
        """Number of class and register tokens before the patches of a clip, or of a frame."""
        return self.embed.num_prefix_tokens

    def get_classifier(self) -> nn.Module | None:
        """Return the last layer of the aggregation, which gives the logits; ``None`` if it has no ``head``."""
        head = getattr(self.aggregate, "head", None)
        return head[-1] if isinstance(head, nn.Sequential) else head

    def no_weight_decay(self) -> set[str]:
        """Return the names of tokens and positions, see :func:`undecayed`."""
        return undecayed(self)

    def set_grad_checkpointing(self, enable: bool | Checkpointing = True) -> None:
        """Recompute activations in the backward pass, see :func:`~lit_video.network.block.set_grad_checkpointing`."""
        set_grad_checkpointing(self, enable)

    def forward_tokens(self, clip: Tensor) -> tuple[Tensor, Grid]:
        """Return the tokens after the last block ``(b, n, d)``, before the final norm, and their grid."""
        x, grid = self.embed(clip)
        for block in self.blocks:
            x = block(x, grid)
        return x, grid

    def forward_features(self, clip: Tensor) -> Tensor:
        """Return features after the final norm: ``(b, d)``, or ``(b, t, d)`` if ``aggregate`` takes frames."""
        x, grid = self.forward_tokens(clip)
        return self.readout(x, grid, self.norm)

    def forward_head(self, features: Tensor) -> Tensor:
        """Return the logits of features, ``(b, d)`` or ``(b, t, d)`` as of :meth:`forward_features`."""
        return self.aggregate(features)

    def forward(self, clip: Tensor) -> Tensor:
        """Return the logits of a clip (5 axes), or of its features (2 or 3 axes)."""
        features = self.forward_features(clip) if clip.ndim == 5 else clip
        return self.forward_head(features)


def undecayed(module: nn.Module) -> set[str]:
    """Return the names of a module's tokens and positions, which have no weight decay though they are no vectors."""
    return {name for name, _ in module.named_parameters() if name.endswith(("_token", "_embed", "latents"))}


def freeze_layers(network: nn.Module, layers: int | Literal["backbone"]) -> None:
    """Freeze the embedding and the first ``layers`` blocks; ``backbone``: all parts but the aggregation."""
    if not isinstance(network, VideoTransformer):
        raise ValueError(f"freeze is {layers}, but the network has no transformer blocks")
    if isinstance(layers, int) and not 0 <= layers <= len(network.blocks):
        raise ValueError(f"freeze is {layers}, the network has {len(network.blocks)} blocks")

    parts: list[nn.Module] = [network.embed, *network.blocks]
    if layers == "backbone":
        parts.append(network.norm)
        if isinstance(network.readout, nn.Module):
            parts.append(network.readout)
    else:
        parts = parts[: 1 + layers]

    for part in parts:
        part.requires_grad_(False)


def frame_tokens(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Return the class token of every frame: ``(b, t * (1 + s), d) -> (b, t, d)``; for X-ViT and ViViT's model 2."""
    return norm(rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, 0])


def prefix_leads_frames(num_tokens: int, grid: Grid, num_prefix_tokens: int) -> bool:
    """Return whether class and register tokens lead each frame, as in X-ViT, and not the clip."""
    return num_tokens == grid.t * (num_prefix_tokens + grid.h * grid.w)


def frame_means(x: Tensor, grid: Grid, norm: nn.Module, *, num_prefix_tokens: int = 0) -> Tensor:
    """Return every frame's mean patch: ``(b, n, d) -> (b, t, d)``; for ViViT's model 2 and for probes.

    Class and register tokens, ``num_prefix_tokens`` of them, lead the clip or each frame, and are left out.
    """
    normed = norm(x)
    if prefix_leads_frames(x.shape[1], grid, num_prefix_tokens):
        frames = rearrange(normed, "b (t m) d -> b t m d", t=grid.t)[:, :, num_prefix_tokens:]
    else:
        frames = rearrange(normed[:, num_prefix_tokens:], "b (t s) d -> b t s d", t=grid.t, s=grid.h * grid.w)
    return frames.mean(2)


def mean_frame_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Average the class tokens, then normalise: ``(b, t * (1 + s), d) -> (b, d)``; for TimeSformer's ``space``."""
    return norm(rearrange(x, "b (t m) d -> b t m d", t=grid.t)[:, :, 0].mean(1))


def clip_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Return the clip's class token: ``(b, 1 + n, d) -> (b, d)``; for TimeSformer and ViViT's model 1."""
    return norm(x[:, 0])


def normed_mean(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Average the tokens, then normalise: ``(b, n, d) -> (b, d)``; for VideoMAE (timm's ``fc_norm``)."""
    return norm(x.mean(1))


def all_tokens(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Return all tokens: ``(b, n, d) -> (b, n, d)``; for the attentive probe."""
    return norm(x)


def mean_token(x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
    """Return the mean of all tokens: ``(b, n, d) -> (b, d)``; for ViViT's models 3 and 4 and the Perceiver."""
    return norm(x).mean(1)
