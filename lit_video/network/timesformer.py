"""TimeSformer assembled: one of five attention schemes, then the class token."""

from __future__ import annotations

from lit_video.attention import Axial, Divided, Joint, LocalGlobal, Scheme, Space
from lit_video.network.aggregation import LinearHead
from lit_video.network.embedding import ClipEmbedding, FrameEmbedding
from lit_video.network.patches import Patches
from lit_video.network.positions import PositionKind, Resizing
from lit_video.network.readout import clip_token, mean_frame_token
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import ViTSize, encoder

# Table 1: S, ST, T+S, L+G, T+W+H; a name added here is a scheme of the family
SCHEMES: dict[str, type[Scheme]] = {
    "space": Space,
    "joint": Joint,
    "divided": Divided,
    "local_global": LocalGlobal,
    "axial": Axial,
}


def timesformer(
    size: ViTSize,
    classes: int,
    image_size: tuple[int, int] = (224, 224),
    patch: int = 16,
    frames: int = 8,
    attention: str = "divided",
    positions: PositionKind = "space-time",
    resizing: Resizing | None = None,
    dropout: float = 0.0,
    drop_path: float = 0.0,
    position_std: float | None = None,
) -> VideoTransformer:
    """Build a TimeSformer (arXiv:2102.05095).

    Args:
        size: width, depth and heads.
        classes: number of classes.
        image_size: (height, width) in pixels.
        patch: side of a patch in pixels.
        frames: frames of a clip.
        attention: ``space`` (S), ``joint`` (ST), ``divided`` (T+S), ``local_global`` (L+G) or ``axial`` (T+W+H).
            ``space`` has no temporal positions, and averages the frames' class tokens before the final norm, as in the
            released code.
        positions: ``none``, ``space`` or ``space-time`` (Table 4).
        resizing: how positions serve clips of another size or length.
        dropout: before the classifier.
        drop_path: stochastic depth of the last layer.
        position_std: spread of the initial positions, see :class:`~lit_video.network.embedding.Embedding`.

    Raises:
        ValueError: an unknown attention, or one that cannot serve this grid.
    """
    if attention not in SCHEMES:
        raise ValueError(f"attention is {attention!r}, expected {', '.join(SCHEMES)}")
    patches = Patches(size.width, patch)
    head = LinearHead(size.width, classes, dropout)
    blocks = encoder(size, lambda i: SCHEMES[attention](size.width, size.heads), drop_path)
    if attention == "space":
        spatial: PositionKind = "none" if positions == "none" else "space"
        embed = FrameEmbedding(patches, frames, image_size, spatial, resizing, position_std=position_std)
        return VideoTransformer(embed, blocks, mean_frame_token, head)
    clip_embed = ClipEmbedding(patches, frames, image_size, positions, resizing, position_std=position_std)
    if attention == "local_global":
        LocalGlobal.check(clip_embed.grid)
    return VideoTransformer(clip_embed, blocks, clip_token, head)
