"""ViViT of the authors' release: flax names and layouts (https://arxiv.org/abs/2103.15691)."""

import re
from collections.abc import Mapping

from einops import rearrange
from torch import Tensor

from lit_video.attention import Grid
from lit_video.attention.factorised import Order
from lit_video.network.patches import ClipSize
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vivit import Pool, Temporal, vivit
from lit_video.weights.mapping import (
    classes_of,
    fill,
    fuse,
    patch_of,
    rename_by,
    size_of,
    stored_grid,
    stored_joint_grid,
    take,
)

# flax's names of a layer's parameters -> torch's
_LEAVES = {"kernel": "weight", "scale": "weight", "bias": "bias"}
# flax's names of a layer's parts -> ours
_PARTS = {
    "LayerNorm_0": "scheme.attn.norm",
    "LayerNorm_space": "scheme.attn.norm",
    "LayerNorm_time": "scheme.time_attn.norm",
    "LayerNorm_1": "mlp.norm",
    "LayerNorm_mlp": "mlp.norm",
    "MlpBlock_0/Dense_0": "mlp.fc1",
    "MlpBlock_0/Dense_1": "mlp.fc2",
    "MlpBlock/Dense_0": "mlp.fc1",
    "MlpBlock/Dense_1": "mlp.fc2",
    "MultiHeadDotProductAttention_0": "scheme.attn",
    "MultiHeadDotProductAttention_space": "scheme.attn",
    "MultiHeadDotProductAttention_time": "scheme.time_attn",
}
_ALONE = {
    "cls": "embed.cls_token",
    "cls_SpatialTransformer": "embed.cls_token",
    "cls_TemporalTransformer": "aggregate.cls_token",
    "Transformer/posembed_input/pos_embedding": "embed.pos_embed",
    "SpatialTransformer/posembed_input/pos_embedding": "embed.pos_embed",
    "TemporalTransformer/posembed_input/pos_embedding": "aggregate.pos_embed",
    "Transformer/encoder_norm": "norm",
    "SpatialTransformer/encoder_norm": "norm",
    "TemporalTransformer/encoder_norm": "aggregate.norm",
    "embedding": "embed.patches.proj",
    "output_projection": "aggregate.head",
}
_LAYERS = {"Transformer": "blocks", "SpatialTransformer": "blocks", "TemporalTransformer": "aggregate.layers"}


def load_scenic_vivit(
    state_dict: Mapping[str, Tensor],
    *,
    heads: int,
    image_size: tuple[int, int],
    model: int | None = None,
    pool: Pool | None = None,
    order: Order = "space_time",
    temporal: Temporal | None = None,
    sampled_frames: int | None = None,
    frames: int | None = None,
) -> VideoTransformer:
    """ViViT's models 1-4 of the authors' release; clips are ``(b, 3, t, height, width)`` here, as everywhere.

    The release has no rule for clips of another size or length: they get ours, bicubic in space and linear in time.

    Args:
        state_dict: flax names joined with ``/``, flax layouts.
        heads: number of heads.
        image_size: (height, width) in pixels.
        model: 1 to 4; ``None`` for what the names show; they are the same for 4 and 1.
        pool: ``token`` or ``mean``; ``None`` for what the names show.
        order: of model 3; the release's class default is ``time_space``, the paper's ``space_time``.
        temporal: of model 2: ``encoder``, or ``mean`` for the average-pool baseline; ``None`` for what the names show.
        sampled_frames: uniform frame sampling.
        frames: frames (after sampling) that positions over space and time are laid out for; ``None`` to compute them
            from the number of positions and ``image_size``.
    """
    renamed = _rename(state_dict, heads)
    tubelet, patch = take(renamed, "embed.patches.proj.weight", 4).shape[1] // 3, patch_of(renamed)
    cls = "embed.cls_token" in renamed
    model = model or _model(state_dict)
    cells = take(renamed, "embed.pos_embed", 3).shape[1] - cls
    if model == 2:
        steps = take(renamed, "aggregate.pos_embed", 3).shape[1] - cls if "aggregate.pos_embed" in renamed else 1
        grid = Grid(steps, *stored_grid(cells, image_size, patch))
    else:
        grid = stored_joint_grid(cells, image_size, patch, frames and frames // tubelet)
    layers = {key.split(".")[2] for key in renamed if key.startswith("aggregate.layers.")}
    network = vivit(
        size_of(renamed, heads),
        classes_of(renamed),
        ClipSize((grid.h * patch, grid.w * patch), patch, grid.t * tubelet, tubelet, sampled_frames),
        variant=model,
        pool=pool or ("token" if cls else "mean"),
        order=order,
        temporal=temporal or ("encoder" if layers or model != 2 else "mean"),
        temporal_depth=len(layers),
    )
    return fill(network, renamed)


def _model(state_dict: Mapping[str, Tensor]) -> int:
    """The model that the names show: those of 4 are those of 1, but for the class token that 1 may have."""
    if any(key.startswith("SpatialTransformer/") for key in state_dict):
        return 2
    return 3 if any("LayerNorm_space" in key for key in state_dict) else 1


def _rename(state_dict: Mapping[str, Tensor], heads: int) -> dict[str, Tensor]:
    ours = rename_by(state_dict, _name)
    for key, value in state_dict.items():
        kernel = re.search("/(query|key|value)/(kernel|bias)$", key)
        if kernel and value.shape[:-1] != ((value.shape[0], heads) if kernel[2] == "kernel" else (heads,)):
            raise ValueError(f"heads is {heads}, but {key} is {tuple(value.shape)}")
    renamed = {name: _layout(name, value) for name, value in ours.items()}
    fuse(renamed, ("query", "key", "value"))
    return renamed


def _name(key: str) -> str | None:
    """Our name of a parameter, its query, key and value still apart."""
    stem, _, leaf = key.rpartition("/")
    if key in _ALONE:
        return _ALONE[key]
    if stem in _ALONE and leaf in _LEAVES:
        return f"{_ALONE[stem]}.{_LEAVES[leaf]}"
    match = re.fullmatch(r"(\w+)/encoderblock_(\d+)/(.+?)(?:/(query|key|value|out))?/(kernel|scale|bias)", key)
    if not match or match[1] not in _LAYERS or match[3] not in _PARTS:
        return None
    projection = {None: "", "out": ".proj"}.get(match[4], f".{match[4]}")
    return f"{_LAYERS[match[1]]}.{match[2]}.{_PARTS[match[3]]}{projection}.{_LEAVES[match[5]]}"


def _layout(name: str, value: Tensor) -> Tensor:
    """From flax's layout to torch's: (in, out) to (out, in), heads merged, a tubelet's frames among the channels."""
    if name == "embed.patches.proj.weight":
        value = value[None] if value.ndim == 4 else value
        if value.ndim != 5:
            raise ValueError(f"shapes that do not fit: embedding/kernel has {value.ndim} axes, expected 4 or 5")
        return rearrange(value, "k height width c d -> d (c k) height width").contiguous()
    if re.search(r"\.(query|key|value)\.", name) and value.ndim > 1:
        value = value.flatten(-2)
    elif name.endswith(".proj.weight") and value.ndim > 1:
        value = value.flatten(0, 1)
    return value.T.contiguous() if name.endswith(".weight") and value.ndim == 2 else value
