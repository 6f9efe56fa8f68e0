"""Networks from released state dicts, by whose names they have."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from lit_video.attention import Space
from lit_video.network.aggregation import TemporalMean
from lit_video.network.embedding import FrameEmbedding
from lit_video.network.positions import Positions
from lit_video.network.readout import frame_tokens
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import encoder
from lit_video.weights.hugging_face import load_hf_timesformer, load_hf_vivit, load_timesformer
from lit_video.weights.mapping import TIMM, classes_of, fill, frame_clip, rename, size_of, without_prefix
from lit_video.weights.scenic import load_scenic_vivit
from lit_video.weights.xvit import load_xvit


def load_timm_vit(state_dict: Mapping[str, Tensor], *, heads: int, image_size: tuple[int, int]) -> VideoTransformer:
    """Timm's ``VisionTransformer`` with a class token, on every frame alone; the frames' logits are averaged.

    Positions of another grid are resized bicubically, as timm does.
    """
    renamed = rename(without_prefix(state_dict, "module.", "model."), TIMM)
    size = size_of(renamed, heads)
    clip = frame_clip(renamed, image_size, 1)
    embed = FrameEmbedding(clip.patches(size.width), 1, clip.image_size, Positions("space"))
    blocks = encoder(size, lambda i: Space(size.width, size.heads))
    head = TemporalMean(size.width, classes_of(renamed))
    return fill(VideoTransformer(embed, blocks, frame_tokens, head), renamed)


# source -> loader, and a piece of a key that only this source has
SOURCES: dict[str, tuple[Callable[..., VideoTransformer], str]] = {
    "xvit": (load_xvit, "base_model."),
    "hf-timesformer": (load_hf_timesformer, "timesformer.embeddings."),
    "hf-vivit": (load_hf_vivit, "vivit.embeddings."),
    "scenic-vivit": (load_scenic_vivit, "/encoderblock_"),
    "timesformer": (load_timesformer, "temporal_norm1."),
    "timm-vit": (load_timm_vit, "patch_embed.proj."),
}


def load(
    source: str, state_dict: Mapping[str, Tensor], *, heads: int, image_size: int | tuple[int, int], **options: Any
) -> VideoTransformer:
    """Build the network that a released state dict belongs to, in eval mode and in the weights' dtype.

    Sources: ``xvit`` and ``timesformer`` (the authors' releases), ``hf-timesformer`` and ``hf-vivit`` (transformers,
    current and older names), ``scenic-vivit`` (the authors' release, flax names with ``/``), ``timm-vit`` (an image
    model, its logits averaged over frames).

    Args:
        source: whose parameter names these are.
        state_dict: the weights.
        heads: number of attention heads, which no shape shows.
        image_size: side, or (height, width), in pixels that the network will be given. Stored positions are taken to be
            a square's if their number is one, else this grid's, and resized by the authors' own rule.
        **options: what else shapes do not show: see the ``load_...`` function of the source's file.

    Returns:
        A network from clips ``(b, 3, t, height, width)``, float and normalised, to logits ``(b, classes)``.

    Raises:
        ValueError: unknown source, or keys that are missing, unknown or of an impossible shape.
    """
    if source not in SOURCES:
        raise ValueError(f"source {source!r} is not known, expected one of {', '.join(sorted(SOURCES))}")
    height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
    return SOURCES[source][0](state_dict, heads=heads, image_size=(height, width), **options)


def source_of(state_dict: Mapping[str, Tensor]) -> str | None:
    """The source whose names a state dict has; ``None`` if it is none of them."""
    return next((source for source, (_, mark) in SOURCES.items() if any(mark in key for key in state_dict)), None)


def detect(state_dict: Mapping[str, Tensor]) -> str:
    """The source whose names a state dict has.

    Raises:
        ValueError: no source's.
    """
    if source := source_of(state_dict):
        return source
    raise ValueError(f"the names are none of {', '.join(sorted(SOURCES))}; the first is {next(iter(state_dict), None)}")
