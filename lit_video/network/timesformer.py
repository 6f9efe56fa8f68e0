"""TimeSformer assembled: one of five attention schemes, then the class token."""

from dataclasses import replace

from torch import nn

from lit_video.attention import Axial, Divided, Joint, LocalGlobal, Scheme, SlidingGlobal, Space
from lit_video.network.aggregation import HiddenHead, LinearHead
from lit_video.network.embedding import ClipEmbedding, FrameEmbedding
from lit_video.network.patches import ClipSize
from lit_video.network.positions import Positions
from lit_video.network.transformer import VideoTransformer, clip_token, mean_frame_token
from lit_video.network.vit import ViTSize, encoder

# Table 1: S, ST, T+S, L+G, T+W+H; a name added here is a scheme of the family
SCHEMES: dict[str, type[Scheme]] = {
    "space": Space,
    "joint": Joint,
    "divided": Divided,
    "local_global": LocalGlobal,
    "sliding_global": SlidingGlobal,
    "axial": Axial,
}


def timesformer(
    size: ViTSize,
    classes: int,
    clip: ClipSize,
    attention: str = "divided",
    positions: Positions | None = None,
    dropout: float = 0.0,
    drop_path: float = 0.0,
    cls_in_time: bool = False,
    hidden_head: bool = False,
) -> VideoTransformer:
    """Build a TimeSformer (arXiv:2102.05095) for these clips, as :class:`lit_video.modules.TimeSformer` has it.

    ``space`` has no temporal positions, and averages the frames' class tokens before the final norm, as in the released
    code.

    Raises:
        ValueError: an unknown attention, or one that cannot serve this grid; ``cls_in_time`` of another than divided.
    """
    if cls_in_time and attention != "divided":
        raise ValueError(f"cls_in_time is of divided attention, attention is {attention}")
    if attention not in SCHEMES:
        raise ValueError(f"attention is {attention!r}, expected {', '.join(SCHEMES)}")
    positions = positions or Positions()
    patches = clip.patches(size.width)
    head = (HiddenHead if hidden_head else LinearHead)(size.width, classes, dropout)
    options = {"cls_in_time": True} if cls_in_time else {}
    blocks = encoder(size, lambda i: SCHEMES[attention](size.width, size.heads, **options), drop_path)
    if attention == "space":
        if positions.kind != "none":
            positions = replace(positions, kind="space")
        embed = FrameEmbedding(patches, clip.frames, clip.image_size, positions)
        return VideoTransformer(embed, blocks, mean_frame_token, head)
    clip_embed = ClipEmbedding(patches, clip.frames, clip.image_size, positions)
    if issubclass(SCHEMES[attention], LocalGlobal):
        LocalGlobal.check(clip_embed.grid)
    return VideoTransformer(clip_embed, blocks, clip_token, head)


def has_cls_in_time(network: nn.Module) -> bool:
    """Whether divided attention is that of the paper's Eq. 11, which no released model has."""
    return any(isinstance(module, Divided) and module.cls_in_time for module in network.modules())
