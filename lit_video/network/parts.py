"""Parts of a network that a user may replace, and their check before training: embedding, readout, aggregation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from inspect import signature
from itertools import chain
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call

from lit_video.attention import Grid
from lit_video.errors import fault_of
from lit_video.network import stem  # noqa: F401  # settings may name its class
from lit_video.network.embedding import ClipSize, Embedding
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.class_paths import class_path, own_class

AnyModule = TypeVar("AnyModule", bound=nn.Module)
AnyEmbedding = TypeVar("AnyEmbedding", bound=Embedding)


class Readout(nn.Module):
    """Base of readouts of the user's own: tokens to features.

    The constructor gets ``dim`` and ``num_heads`` if it has such parameters. ``norm`` is the network's last layer norm.

    Shape: tokens ``(b, n, d)`` and their grid -> features ``(b, d)`` or ``(b, t, d)``, like the readout of the family;
    with an aggregation of the user's own, features of any shape that it takes.
    """

    def forward(self, x: Tensor, grid: Grid, norm: nn.Module) -> Tensor:
        """Return the features of tokens."""
        raise NotImplementedError


class Aggregation(nn.Module):
    """Base of aggregations of the user's own: features to logits.

    The constructor gets ``dim``, ``classes``, ``num_heads``, ``num_frames`` (of the token grid) and ``dropout``, if it
    has such parameters. If the last linear layer is called ``head``, features and new classes work as for other
    models.

    Shape: features ``(b, d)`` or ``(b, t, d)``, as read out -> logits ``(b, classes)``.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of features."""
        raise NotImplementedError


@dataclass(frozen=True)
class Parts:
    """Parts in place of a family's own; ``None`` for the family's."""

    embedding: type[Embedding] | None = None
    readout: type[Readout] | None = None
    aggregation: type[Aggregation] | None = None

    @classmethod
    def of(
        cls,
        *,
        embedding: str | type[Embedding] | None,
        readout: str | type[Readout] | None,
        aggregation: str | type[Aggregation] | None,
    ) -> "Parts":
        """Return parts by class or by name, ``MODULE.CLASS`` of an imported module."""
        return cls(
            own_class("embedding", embedding, Embedding),
            own_class("readout", readout, Readout),
            own_class("aggregation", aggregation, Aggregation),
        )

    @property
    def names(self) -> list[str]:
        """Names of the parts that are the user's own."""
        return [field.name for field in fields(self) if getattr(self, field.name) is not None]

    def embed(self, family: type[AnyEmbedding], clip: ClipSize, dim: int, **arguments: Any) -> AnyEmbedding:
        """Build the embedding, ``family`` by default.

        Raises:
            ValueError: the user's own does not extend ``family``, fails, or gives tokens of another number or width.
        """
        if self.embedding is None:
            return family(clip.patches(dim), clip.num_frames, clip.image_size, **arguments)

        if not issubclass(self.embedding, family):
            raise ValueError(f"embedding {class_path(self.embedding)} does not extend {class_path(family)}")

        with _naming("embedding", self.embedding):
            embed = self.embedding(clip.patches(dim), clip.num_frames, clip.image_size, **arguments)
            tokens = _tokens(embed, clip)

        with torch.device("meta"):
            expected = _tokens(family(clip.patches(dim), clip.num_frames, clip.image_size, **arguments), clip)
        if tokens != expected:
            name = class_path(self.embedding)
            raise ValueError(f"embedding {name} gives {tokens}, expected {expected} as of {class_path(family)}")
        return embed

    def put_into(
        self, network: VideoTransformer, clip: ClipSize, classes: int, *, dropout: float = 0.0
    ) -> VideoTransformer:
        """Replace a network's readout and aggregation by the user's own; return the network.

        Raises:
            ValueError: a part fails, or gives another shape than the next part takes.
        """
        network.parts = tuple(self.names)
        if self.readout is None and self.aggregation is None:
            return network

        x, grid = _on_meta(network.embed, _pixels(clip))
        for block in network.blocks:
            x = _on_meta(block, x, grid)
        with torch.device("meta"):
            norm = nn.LayerNorm(x.shape[-1])
            features = network.readout(x, grid, norm)

        offered = {
            "dim": network.size.embed_dim,
            "classes": classes,
            "num_heads": network.size.num_heads,
            "num_frames": network.num_frames,
            "dropout": dropout,
        }
        if self.readout is not None:
            with _naming("readout", self.readout):
                network.readout = readout = _built(self.readout, offered)
                own = _tensor(_on_meta(readout, x, grid, norm))
            if self.aggregation is None and own.shape != features.shape:
                shapes = f"{tuple(own.shape)} of tokens {tuple(x.shape)}, expected {tuple(features.shape)}"
                raise ValueError(f"readout {class_path(self.readout)} gives {shapes}, for the network's aggregation")
            features = own

        if self.aggregation is not None:
            with _naming("aggregation", self.aggregation):
                network.aggregate = _built(self.aggregation, offered)
                logits = _tensor(_on_meta(network.aggregate, features))
            if logits.shape != (len(x), classes):
                shapes = f"{tuple(logits.shape)} of features {tuple(features.shape)}, expected {(len(x), classes)}"
                raise ValueError(f"aggregation {class_path(self.aggregation)} gives {shapes}")
        return network


def _built(kind: type[AnyModule], offered: Mapping[str, Any]) -> AnyModule:
    """Build a part with those of the offered arguments for which its constructor has parameters."""
    named = signature(kind).parameters
    return kind(**{name: value for name, value in offered.items() if name in named})


def _pixels(clip: ClipSize) -> Tensor:
    return torch.empty(2, 3, clip.num_frames, *clip.image_size, device="meta")


def _tokens(embed: Embedding, clip: ClipSize) -> str:
    """Return the shape of an embedding's tokens and their grid, in words."""
    x, grid = _on_meta(embed, _pixels(clip))
    return f"tokens {tuple(_tensor(x).shape)} on a grid of {'x'.join(map(str, grid))}"


def _on_meta(module: nn.Module, *inputs: Any) -> Any:
    """Return a module's outputs on the meta device, where shapes are all that is computed."""
    state = {}
    for name, value in chain(module.named_parameters(), module.named_buffers()):
        state[name] = torch.empty_like(value, device="meta")
    with torch.no_grad(), torch.device("meta"):
        return functional_call(module, state, inputs)


def _tensor(output: Any) -> Tensor:
    if not isinstance(output, Tensor) or not output.is_floating_point():
        raise TypeError(f"returns a {type(output).__name__}, expected a tensor of numbers")
    return output


@contextmanager
def _naming(name: str, kind: type) -> Iterator[None]:
    """Name the part in an error of the user's code, with the line where it was raised."""
    try:
        yield
    except Exception as error:  # a user's code raises anything
        raise ValueError(f"{name} {class_path(kind)} fails: {fault_of(error)}") from error
