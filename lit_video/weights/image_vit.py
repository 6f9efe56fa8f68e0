"""Image ViT weights (timm's names) into a video transformer's backbone."""

import re
from collections.abc import Mapping
from typing import Literal

import torch
from einops import einsum, rearrange, repeat
from torch import Tensor

from lit_video.attention import ZeroLinear
from lit_video.network.embedding import Embedding, JointEmbedding
from lit_video.network.positions import resize_space
from lit_video.network.transformer import VideoTransformer
from lit_video.weights.image_sources import timm_names
from lit_video.weights.mapping import TIMM, new_name

# the image classifier, which a video transformer replaces, and MAE's decoder
_HEAD = ("head.", "pre_logits.", "fc_norm.", "decoder_", "mask_token")
TubeletInit = Literal["central", "average"]


def load_image_vit(
    network: VideoTransformer, state_dict: Mapping[str, Tensor], tubelet_init: TubeletInit = "central"
) -> str:
    """Initialise the backbone from an image ViT, so that training starts from the image model.

    The classifier, the temporal positions and the layers over frames stay as they are. Spatial positions of another
    grid are resized bicubically, and repeated along time in a table over space and time (ViViT, section 3.4); class
    token and positions are left out where the network has none. Additional attention steps copy the image's attention;
    the zero-initialised layer that they end in stays (TimeSformer's release).

    Args:
        network: the video transformer, changed in place.
        state_dict: a ViT's weights, under the names of timm, AugReg, transformers or torchvision.
        tubelet_init: how the kernel of tubelets starts (ViViT, Eq. 8-9): ``central`` puts the image's kernel at frame
            k // 2 and zeros elsewhere, ``average`` at all k frames, divided by k.

    Returns:
        A line: how many tensors were taken, what was resized or copied, and what is new.

    Raises:
        ValueError: a parameter of the backbone is missing, has another shape, or has no place in the network. Nothing
            has been changed then.
    """
    state_dict = timm_names(state_dict)
    image = {new_name(key, TIMM): value for key, value in state_dict.items() if not key.startswith(_HEAD)}
    ours = {key: value for key, value in network.state_dict().items() if _from_image(network, key)}
    sources = {key: re.sub(r"\.scheme\.\w+_attn\.", ".scheme.attn.", key) for key in ours}
    optional = {"embed.pos_embed", "embed.cls_token"}  # a network may have none
    places = {*sources.values(), *optional}
    unknown = [key for key in state_dict if not key.startswith(_HEAD) and new_name(key, TIMM) not in places]
    if unknown:
        raise ValueError(f"the image weights have no place for {', '.join(unknown)}")
    missing = [key for key, source in sources.items() if source not in image]
    if missing:
        raise ValueError(f"the image weights have no parameter for {', '.join(missing)}")
    values = {key: image[source] for key, source in sources.items()}
    stem = "embed.patches.proj.weight"
    if values[stem].ndim != 4:
        shape = tuple(values[stem].shape)
        raise ValueError(
            f"patch_embed.proj.weight is {shape}, expected (width, 3, patch, patch): a linear stem does not "
            "say the order of its pixels"
        )
    values[stem] = inflate(values[stem], network.embed.patches.tubelet, tubelet_init)
    if "embed.pos_embed" in ours:
        values["embed.pos_embed"] = _positions(network.embed, values["embed.pos_embed"])
    for key, target in ours.items():
        if values[key].shape != target.shape:
            raise ValueError(f"{key} is {tuple(target.shape)} here, {tuple(values[key].shape)} in the image weights")
    with torch.no_grad():
        for key, target in ours.items():
            target.copy_(values[key])
    return _summary(network, sources, image)


def _summary(network: VideoTransformer, sources: Mapping[str, str], image: Mapping[str | None, Tensor]) -> str:
    own = {source for key, source in sources.items() if key == source}
    line = [f"{len(own)} tensors of the image model taken"]
    if (table := image.get("embed.pos_embed")) is not None and "embed.pos_embed" in sources:
        side, grid = round((table.shape[1] - 1) ** 0.5), network.embed.grid
        if (side, side) != (grid.h, grid.w):
            line.append(f"positions resized from {side} x {side} to {grid.h} x {grid.w}")
    if len(sources) > len(own):
        line.append("attention over time copied from that over space")
    if network.embed.patches.tubelet > 1:
        line.append(f"patches spread over {network.embed.patches.tubelet} frames")
    new = sorted({_words(key) for key in network.state_dict() if key not in sources})
    return f"{', '.join(line)}; new: {', '.join(new)}"


def _words(key: str) -> str:
    """What a parameter that no image model has is part of."""
    if key.startswith("aggregate."):
        return "classifier"
    if key == "embed.temp_embed":
        return "positions in time"
    return re.sub(r"^blocks\.\d+\.(scheme\.)?", "", key).rpartition(".")[0] or key


def inflate(kernel: Tensor, tubelet: int, how: TubeletInit) -> Tensor:
    """An image's patch kernel ``(d, 3, p, p)`` as that of tubelets of k frames, ``(d, 3 * k, p, p)``.

    Source: ViViT, arXiv:2103.15691, Eq. 8 (``average``, filter inflation) and 9 (``central``, central frame).
    """
    if how not in ("central", "average"):
        raise ValueError(f"tubelet_init is {how!r}, expected central or average")
    frames = torch.full((tubelet,), 1 / tubelet, dtype=kernel.dtype, device=kernel.device)
    if how == "central":
        frames = (torch.arange(tubelet, device=kernel.device) == tubelet // 2).to(kernel.dtype)
    return rearrange(einsum(kernel, frames, "d c h w, k -> d c k h w"), "d c k h w -> d (c k) h w")


def _from_image(network: VideoTransformer, key: str) -> bool:
    """Whether a parameter has a counterpart in the image model."""
    if key.startswith("aggregate.") or key == "embed.temp_embed":
        return False
    return not isinstance(network.get_submodule(key.rpartition(".")[0]), ZeroLinear)


def _positions(embed: Embedding, table: Tensor) -> Tensor:
    """Positions of an image, led by the class token's, as a network's table."""
    cells, grid = table.shape[1] - 1, embed.grid
    side = round(cells**0.5)
    if side**2 != cells and cells != grid.h * grid.w:
        raise ValueError(f"pos_embed: {cells} positions are neither those of a square image nor of the network's grid")
    source = (side, side) if side**2 == cells else (grid.h, grid.w)
    space = resize_space(table[:, 1:], source, (grid.h, grid.w))
    if isinstance(embed, JointEmbedding):
        space = repeat(space, "1 s d -> 1 (t s) d", t=grid.t)
    return torch.cat((table[:, : embed.slots], space), dim=1)
