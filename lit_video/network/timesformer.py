"""TimeSformer: a video transformer with one of several attention schemes."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import signature

from lit_video.attention import (
    Axial,
    Divided,
    Joint,
    LocalGlobal,
    Parallel,
    Scheme,
    SlidingGlobal,
    Space,
    SpaceBeforeTime,
)
from lit_video.network.aggregation import HiddenHead, LinearHead
from lit_video.network.embedding import ClipEmbedding, ClipSize, FrameEmbedding
from lit_video.network.parts import Parts
from lit_video.network.positions import NEAREST, PositionKind, Positions
from lit_video.network.transformer import VideoTransformer, clip_token, mean_frame_token, mean_token
from lit_video.network.vit import ViTSize, encoder
from lit_video.utils.class_paths import known_class

_PACKAGE = "lit_video.attention."
# Table 1: S, ST, T+S, L+G (two readings), T+W+H; section 4.7: space before time, and both in parallel
SCHEMES: dict[str, type[Scheme]] = {
    "space": Space,
    "joint": Joint,
    "divided": Divided,
    "local_global": LocalGlobal,
    "sliding_global": SlidingGlobal,
    "axial": Axial,
    "space_before_time": SpaceBeforeTime,
    "parallel": Parallel,
}
# a scheme's ``class_tokens`` -> embedding, readout
LAYOUTS = {
    "clip": (ClipEmbedding, clip_token),
    "frame": (FrameEmbedding, mean_frame_token),
    "none": (ClipEmbedding, mean_token),
}


def timesformer(
    size: ViTSize,
    classes: int,
    clip: ClipSize,
    *,
    attention_type: str | type[Scheme] = "divided",
    positions: Positions | None = None,
    dropout: float = 0.0,
    drop_path_rate: float = 0.0,
    cls_in_time: bool = False,
    hidden_head: bool = False,
    parts: Parts | None = None,
) -> VideoTransformer:
    """Build a TimeSformer (arXiv:2102.05095); arguments: see :class:`lit_video.modules.TimeSformer`.

    Like the released code, ``space`` averages the class tokens before the final norm.
    """
    parts = parts or Parts()
    kind = scheme_class(attention_type)
    if cls_in_time and not issubclass(kind, Divided):
        raise ValueError(
            f"cls_in_time is for divided attention, but attention_type is {attention_type}: set cls_in_time false"
        )

    positions = replace(positions or Positions(usual_positions(attention_type)), stored=NEAREST)
    embedding, readout = LAYOUTS[kind.class_tokens]
    has_class_token = kind.class_tokens != "none"
    embed = parts.embed(embedding, clip, size.embed_dim, positions=positions, cls=has_class_token)
    kind.check(embed.grid)

    make = partial(kind, cls_in_time=True) if cls_in_time else kind
    blocks = encoder(size, lambda i: build_scheme(make, size.embed_dim, size.num_heads, layer=i), drop_path_rate)
    classifier = HiddenHead if hidden_head else LinearHead
    head = classifier(size.embed_dim, classes, dropout)
    network = VideoTransformer(embed, blocks, readout, aggregate=head, size=size)
    return parts.put_into(network, clip, classes, dropout=dropout)


def usual_positions(attention_type: str | type[Scheme]) -> PositionKind:
    """Return the positions of a scheme in the released code: ``space`` for attention in space, else ``space-time``.

    Attention in space with positions in time knows when each frame was, but its frames meet only in the norm after
    their mean: a control for attention over time.
    """
    return "space" if scheme_class(attention_type) is Space else "space-time"


def scheme_class(attention_type: str | type[Scheme]) -> type[Scheme]:
    """Return a scheme by its name in ``SCHEMES`` or ``MODULE.CLASS``; import only ``lit_video.attention.*``."""
    if isinstance(attention_type, type) and issubclass(attention_type, Scheme):
        return attention_type
    if attention_type in SCHEMES:
        return SCHEMES[attention_type]
    if attention_type.startswith(_PACKAGE):
        with suppress(ImportError, ValueError):
            import_module(attention_type.rpartition(".")[0])
    try:
        return known_class(Scheme, attention_type)
    except ValueError as error:
        unknown = f"attention_type is {attention_type!r}, expected {', '.join(SCHEMES)}, or MODULE.CLASS of your own"
        raise ValueError(f"{unknown}, whose file --scheme FILE.py imports") from error


def build_scheme(kind: Callable[..., Scheme], dim: int, num_heads: int, *, layer: int) -> Scheme:
    """Build a layer's scheme; a class that takes ``layer`` gets the layer's number."""
    if "layer" in signature(kind).parameters:
        return kind(dim, num_heads, layer=layer)
    return kind(dim, num_heads)
