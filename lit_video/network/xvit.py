"""X-ViT: space-time mixing blocks, then temporal averaging or temporal attention."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from torch import nn

from lit_video.attention import LocalWindow, Mixing, MixingPlan, Scheme, Space
from lit_video.network.aggregation import CrossTemporalAttention, TAAttention, TemporalAttention, TemporalMean
from lit_video.network.embedding import ClipSize, FrameEmbedding
from lit_video.network.parts import Parts
from lit_video.network.positions import Positions, Resizing
from lit_video.network.transformer import VideoTransformer, frame_tokens
from lit_video.network.vit import ViTSize, encoder
from lit_video.utils.class_paths import class_path

LayerChoice = Literal["all", "first_half", "second_half", "odd"]


def chosen_layers(choice: LayerChoice | Sequence[int], depth: int, name: str = "layers") -> frozenset[int]:
    """Return the indices (from 0) of the chosen layers (X-ViT, Table 2a); ``name`` is for messages."""
    if isinstance(choice, str):
        ranges = {
            "all": range(depth),
            "first_half": range(depth // 2),
            "second_half": range(depth // 2, depth),
            "odd": range(1, depth, 2),
        }
        if choice not in ranges:
            raise ValueError(f"{name} is {choice!r}, expected {', '.join(ranges)} or a list of indices")
        return frozenset(ranges[choice])

    outside = [i for i in choice if not 0 <= i < depth]
    if outside:
        raise ValueError(f"{name} lists {outside}, the network has layers 0 to {depth - 1}")
    return frozenset(choice)


def xvit(
    size: ViTSize,
    classes: int,
    clip: ClipSize,
    *,
    plan: MixingPlan | None = None,
    layers: LayerChoice | Sequence[int] = "all",
    summary_layers: LayerChoice | Sequence[int] = "all",
    exact: bool = False,
    aggregate: nn.Module | None = None,
    positions: Positions | None = None,
    dropout: float = 0.5,
    drop_path_rate: float = 0.0,
    parts: Parts | None = None,
) -> VideoTransformer:
    """Build an X-ViT (arXiv:2106.05968); ``layers`` to ``exact``: see :class:`lit_video.modules.XViT`.

    With ``exact`` only ``window`` and ``causal`` of the plan are used. If the plan has a ``segment``, positions in time
    are those of such a group of frames. ``aggregate`` maps frame tokens ``(b, t, d)`` to logits; ``None`` is a layer of
    temporal attention, the paper's best setting, as released. ``parts`` of the user's own replace the embedding, the
    readout or the aggregation.
    """
    plan = plan or MixingPlan()
    positions = positions or Positions()
    parts = parts or Parts()
    if plan.causal and positions.kind == "space-time":
        raise ValueError("positions is space-time, but a causal model has no positions in time: give space or none")
    if plan.causal and parts.embedding and not parts.embedding.causal:
        name = class_path(parts.embedding)
        raise ValueError(f"causal is true, but embedding {name} does not claim causal = True: it may see later frames")

    mixing = chosen_layers(layers, size.depth)
    summarised = chosen_layers(summary_layers, size.depth, "summary_layers")
    if not plan.summary and summary_layers != "all":
        raise ValueError("summary_layers does not apply without summary")
    if plan.summary and not mixing & summarised:
        raise ValueError(
            f"summary is {plan.summary}, but no layer has summary tokens: layers and summary_layers share none"
        )
    _check_cells(plan.num_summary_tokens, clip)
    plan_without_summary = replace(plan, summary=False, num_summary_tokens=1)

    def scheme(i: int) -> Scheme:
        if i not in mixing:
            return Space(size.embed_dim, size.num_heads)
        if exact:
            return LocalWindow(size.embed_dim, size.num_heads, plan.window, causal=plan.causal)
        return Mixing(size.embed_dim, size.num_heads, plan if i in summarised else plan_without_summary)

    table = replace(positions, stored=Resizing(time="repeat"))
    group = replace(clip, num_frames=plan.segment or clip.num_frames)
    embed = parts.embed(FrameEmbedding, group, size.embed_dim, positions=table)
    aggregate = aggregate or temporal_aggregation(size, classes, ta_layers=1, dropout=dropout)
    blocks = encoder(size, scheme, drop_path_rate)
    network = VideoTransformer(embed, blocks, frame_tokens, aggregate=aggregate, size=size, num_frames=clip.num_frames)
    return parts.put_into(network, clip, classes, dropout=dropout)


def _check_cells(num_summary_tokens: int, clip: ClipSize) -> None:
    """Refuse a frame whose patches do not divide into one cell for each summary token."""
    height, width = clip.image_size
    rows = height // clip.patch_size
    columns = width // clip.patch_size
    cells = math.isqrt(num_summary_tokens)
    if rows % cells or columns % cells:
        raise ValueError(
            f"num_summary_tokens is {num_summary_tokens}: "
            f"{rows}x{columns} patches do not divide into {cells}x{cells} cells"
        )


def temporal_aggregation(
    size: ViTSize, classes: int, ta_layers: int, *, ta_attention: TAAttention = "self", dropout: float = 0.5
) -> nn.Module:
    """Build the aggregation of X-ViT's Table 2b: temporal attention (TA), or averaging if ``ta_layers`` is 0."""
    kinds = {"self": TemporalAttention, "cross": CrossTemporalAttention}
    if ta_attention not in kinds:
        raise ValueError(f"ta_attention is {ta_attention!r}, expected {' or '.join(kinds)}")
    if ta_layers < 0:
        raise ValueError(f"ta_layers is {ta_layers}, expected 0, 1, 2, ...")
    if ta_layers == 0:
        return TemporalMean(size.embed_dim, classes, dropout)
    kind = kinds[ta_attention]
    return kind(size.embed_dim, classes, ta_layers, num_heads=size.num_heads, dropout=dropout)
