"""ViViT: tubelets, and one of the paper's four models of attention over space and time."""

from typing import Literal

from torch import nn

from lit_video.attention import Factorised, FactorisedHeads, Joint, Scheme, Space
from lit_video.attention.factorised import StepOrder
from lit_video.network.aggregation import LinearHead, TemporalEncoder, TemporalMean
from lit_video.network.block import FLAX_STYLE, TIMM_STYLE
from lit_video.network.embedding import ClipSize, FrameEmbedding, JointEmbedding
from lit_video.network.parts import Parts
from lit_video.network.positions import Positions
from lit_video.network.transformer import (
    VideoTransformer,
    clip_token,
    frame_means,
    frame_tokens,
    mean_token,
    normed_mean,
)
from lit_video.network.vit import ViTSize, encoder

# schemes of models 1, 2 and 4; the scheme of model 3 also takes an order
_SCHEMES: dict[int, type[Scheme]] = {1: Joint, 2: Space, 4: FactorisedHeads}
Pool = Literal["token", "mean", "fc_norm"]
Temporal = Literal["encoder", "mean"]
POOLS: dict[int, Pool] = {1: "token", 2: "token", 3: "mean", 4: "mean"}


def vivit(
    size: ViTSize,
    classes: int,
    clip: ClipSize,
    *,
    variant: int = 1,
    pool: Pool | None = None,
    order: StepOrder = "space_time",
    zero_temporal: bool = False,
    temporal: Temporal = "encoder",
    temporal_depth: int = 4,
    position_std: float | None = None,
    dropout: float = 0.0,
    drop_path_rate: float = 0.0,
    parts: Parts | None = None,
) -> VideoTransformer:
    """Build a ViViT (arXiv:2103.15691; GELU and norms as released); arguments: see :class:`lit_video.modules.ViViT`."""
    if variant not in POOLS:
        raise ValueError(f"variant is {variant}, expected 1, 2, 3 or 4")
    pool = pool or POOLS[variant]
    if temporal not in ("encoder", "mean"):
        raise ValueError(f"temporal is {temporal!r}, expected encoder or mean")
    if pool == "token" and variant in (3, 4):
        raise ValueError(f"pool is token, but variant {variant} has no class token")
    if pool == "fc_norm" and variant == 2:
        raise ValueError("pool is fc_norm, the norm of a mean over the clip, but variant 2 has features of frames")

    parts = parts or Parts()
    cls = pool == "token"

    def scheme(i: int) -> Scheme:
        if variant == 3:
            return Factorised(size.embed_dim, size.num_heads, order, zero=zero_temporal)
        return _SCHEMES[variant](size.embed_dim, size.num_heads)

    # VideoMAE's authors fine-tune a model of timm's style
    style = TIMM_STYLE if pool == "fc_norm" else FLAX_STYLE
    blocks = encoder(size, scheme, drop_path_rate, style=style)

    if variant != 2:
        head = LinearHead(size.embed_dim, classes, dropout)
        joint = parts.embed(JointEmbedding, clip, size.embed_dim, cls=cls)
        _start_positions(joint, position_std, fixed=pool == "fc_norm")
        readout = {"token": clip_token, "mean": mean_token, "fc_norm": normed_mean}[pool]
        network = VideoTransformer(joint, blocks, readout, aggregate=head, size=size)
        return parts.put_into(network, clip, classes, dropout=dropout)

    embed = frame_embedding(clip, size.embed_dim, cls, parts=parts)
    aggregate: nn.Module = TemporalMean(size.embed_dim, classes, dropout)
    if temporal == "encoder":
        aggregate = TemporalEncoder(
            size,
            temporal_depth,
            classes,
            num_frames=embed.grid.t,
            cls=cls,
            position_std=position_std or 0.02,
            dropout=dropout,
            drop_path_rate=drop_path_rate,
        )
    readout = frame_tokens if pool == "token" else frame_means
    network = VideoTransformer(embed, blocks, readout, aggregate=aggregate, size=size)
    return parts.put_into(network, clip, classes, dropout=dropout)


def _start_positions(joint: JointEmbedding, std: float | None, *, fixed: bool) -> None:
    """Fix the positions of models 1, 3 and 4, or spread the first ones in time."""
    if fixed and std:
        raise ValueError(f"position_std is {std:g}, but the positions of pool fc_norm are fixed: set it to null")
    if fixed:
        joint.fix_positions()
    if std:
        joint.spread_in_time(std)


def frame_embedding(clip: ClipSize, dim: int, cls: bool, *, parts: Parts) -> FrameEmbedding:
    """Build the embedding of model 2's spatial encoder; its class token starts at zero, as in the released code."""
    embed = parts.embed(FrameEmbedding, clip, dim, positions=Positions("space"), cls=cls)
    if embed.cls_token is not None:
        nn.init.zeros_(embed.cls_token)
    return embed
