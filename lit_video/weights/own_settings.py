"""What a checkpoint of our own says of the model and the clips that it was trained with."""

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import nn

from lit_video.network.embedding import JointEmbedding
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import SIZES
from lit_video.utils.image_size import height_and_width
from lit_video.weights.reading import StoredWeights
from lit_video.weights.release_settings import OTHERWISE, flags

# settings that change what is computed, and that no name and no shape shows
SCHEME = (
    *("window", "boundary", "ratio", "mixed", "layers", "scope", "exact", "causal", "segments"),
    *("summary", "summary_tokens", "summary_before_norm", "summary_layers"),
    *("attention", "cls_in_time", "variant", "order", "temporal", "pool", "alpha"),
)
HEADS = "size.heads"  # likewise, a part of a setting


def own_settings(stored: StoredWeights) -> dict[str, Any]:
    """The attention scheme's settings of one of our runs, by flag; of others' weights, none."""
    later = {"causal": False} if "window" in stored.model else {}  # of an X-ViT that does not store it
    model = {**later, **_heads(stored.model), **stored.model}
    return {key: _plain(model[key]) for key in (*SCHEME, HEADS) if key in model}


def refuse_another_scheme(hparams: Mapping[str, Any], stored: StoredWeights, otherwise: str = OTHERWISE) -> None:
    """Refuse weights of our own for a model whose attention differs from theirs.

    Args:
        hparams: of the model.
        stored: the weights.
        otherwise: what else can be done.

    Raises:
        ValueError: with the flags that correct it.
    """
    ours = {key: _plain(value) for key, value in hparams.items()} | _heads(hparams)
    if other := {key: value for key, value in own_settings(stored).items() if ours.get(key, value) != value}:
        raise ValueError(f"it was trained with other settings: set {flags(other)}, {otherwise}")


def refuse_another_grid(network: nn.Module, stored: StoredWeights, otherwise: str = OTHERWISE) -> None:
    """Refuse weights of our own whose positions are of another grid with as many patches, which no shape shows.

    Raises:
        ValueError: with the flags that correct it.
    """
    if not (stored.clips and isinstance(network, VideoTransformer)) or network.embed.pos_embed is None:
        return
    clips = {"frames": stored.clips["frames"], "image_size": height_and_width(stored.clips["image_size"])}
    try:
        theirs = network.embed.patches.grid(clips["frames"], *clips["image_size"])
    except ValueError:
        return  # of other patches, which shapes show
    ours = tuple(network.embed.grid)
    if not isinstance(network.embed, JointEmbedding):  # time has a table of its own, if any
        ours = (theirs[0], *ours[1:])
        del clips["frames"]
    if theirs != ours and prod(theirs) == prod(ours):
        raise ValueError(f"its positions are of another grid of patches: set {flags(clips, 'data')}, {otherwise}")


def _heads(model: Mapping[str, Any]) -> dict[str, int]:
    """Heads of a model whose settings have a size, in any of its forms; nothing of others."""
    size = model.get("size")
    size = next((one for name, one in SIZES.items() if name == size), size)
    heads = size.get("heads") if isinstance(size, Mapping) else getattr(size, "heads", None)
    return {} if heads is None else {HEADS: heads}


def _plain(value: Any) -> Any:
    """Of several, their order does not matter."""
    return tuple(sorted(value)) if isinstance(value, list | tuple) else value
