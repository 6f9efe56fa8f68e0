"""The video transformer that all models share: embed -> blocks -> read out -> aggregate."""

import re
from collections.abc import Callable, Iterable
from typing import Literal

from einops import rearrange
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.network.block import Checkpointing, set_grad_checkpointing
from lit_video.network.embedding import NO_PREFIX, Embedding, Prefix
from lit_video.network.vit import ViTSize

# (tokens ``(b, n, d)``, their grid, the final layer norm) -> features ``(b, d)`` or ``(b, t, d)``
ReadTokens = Callable[[Tensor, Grid, nn.Module], Tensor]
# a word in the own name of a parameter that is no weight of a layer
NO_WEIGHT = re.compile(r"(?:^|_)(?:pos|positions?|tokens?|embed|embeddings?|latents|table)(?:_|$)")


class VideoTransformer(nn.Module):
    """A clip's tokens pass through a stack of blocks, are read out and classified.

    Shape: clip ``(b, 3, t, height, width)``, float, already normalised -> logits ``(b, classes)``.

    Args:
        embed: clip to tokens and their grid.
        blocks: encoder layers, each ``(tokens, grid) -> tokens``.
        readout: tokens to features, one of the functions below, or a module.
        aggregate: features to logits.
        size: width, depth and heads of the blocks, register tokens and norms.
        num_frames: frames of a training clip's token grid; ``None`` for those that the embedding has positions for.

    Attributes:
        parts: names of the parts that are the user's own, see :class:`~lit_video.network.parts.Parts`.
    """

    parts: tuple[str, ...] = ()

    def __init__(
        self,
        embed: Embedding,
        blocks: Iterable[nn.Module],
        readout: ReadTokens,
        *,
        aggregate: nn.Module,
        size: ViTSize,
        num_frames: int | None = None,
    ) -> None:
        super().__init__()
        embed.extend(size)
        self.size = size
        self.embed = embed
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(embed.embed_dim, eps=size.eps or 1e-6)
        self.readout: ReadTokens = readout
        self.aggregate = aggregate
        self.num_frames = num_frames or embed.grid.t

    @property
    def num_prefix_tokens(self) -> int:
        """Number of class and register tokens before the patches of a clip, or of a frame."""
        return self.embed.num_prefix_tokens

    def get_classifier(self) -> nn.Module | None:
        """Return the last layer of the aggregation, which gives the logits; ``None`` if it has no ``head``."""
        head = getattr(self.aggregate, "head", None)
        copies = getattr(head, "modules_to_save", None)  # PEFT trains a copy in place of the part
        if head is not None and isinstance(copies, nn.ModuleDict):
            head = copies[head.active_adapters[0]]
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


def unwrapped(network: nn.Module) -> nn.Module:
    """Return the network in wrappers of ``torch.compile``, of PEFT, and of PyTorch's averages and parallel copies."""
    while not isinstance(network, VideoTransformer):
        base = getattr(network, "get_base_model", None)  # PEFT
        inner = base() if callable(base) else getattr(network, "_orig_mod", None)
        if inner is None and type(network).__module__.startswith("torch."):
            inner = getattr(network, "module", None)
        if not isinstance(inner, nn.Module):
            return network
        network = inner
    return network


def undecayed(module: nn.Module) -> set[str]:
    """Return the names of a module's tokens, positions and tables, which are no vectors and yet have no weight decay.

    Names of parameters tell them, also in networks of others (``pos_embed``, ``relative_position_bias_table``), and the
    class ``nn.Embedding``.
    """
    names: set[str] = set()
    for prefix, part in module.named_modules():
        for name, _ in part.named_parameters(prefix, recurse=False):
            own_name = name.rpartition(".")[2]
            if isinstance(part, nn.Embedding) or NO_WEIGHT.search(own_name):
                names.add(name)
    return names


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


def frame_means(x: Tensor, grid: Grid, norm: nn.Module, *, prefix: Prefix = NO_PREFIX) -> Tensor:
    """Return the mean of every frame's patches: ``(b, n, d) -> (b, t, d)``; for ViViT's model 2 and for probes."""
    return prefix.without(norm(x), grid).mean(2)


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
