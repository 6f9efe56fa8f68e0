"""Image ViTs into a video transformer's backbone: timm builds and reads them, one mapping takes timm's names."""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import timm
import torch
from einops import einsum, rearrange, repeat
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor

from lit_video.attention import Heads, ZeroLinear
from lit_video.network.embedding import Embedding, JointEmbedding
from lit_video.network.positions import resize_space
from lit_video.network.transformer import VideoTransformer
from lit_video.weights.hub import weights_path
from lit_video.weights.mapping import TIMM, new_name, refuse_other_names, refuse_other_shapes, stored_grid
from lit_video.weights.reading import StoredWeights, read_weights

PREFIX = "timm:"
# the image classifier, which a video transformer replaces, and MAE's decoder
_HEAD = ("head.", "pre_logits.", "fc_norm.", "decoder_", "mask_token")
TubeletInit = Literal["central", "average"]


def read_image_vit(given: str, network: VideoTransformer, average: bool | None = None) -> StoredWeights:
    """Parameters of an image ViT under timm's names; for a network on the meta device timm downloads nothing.

    Args:
        given: ``timm:NAME``, a model that timm builds with the weights that it downloads or has in its cache; or what
            :func:`~lit_video.weights.reading.read_weights` reads.
        network: the video transformer that starts from them.
        average: see :func:`~lit_video.weights.reading.read_weights`.

    Raises:
        UserError: the file does not exist, or cannot be read.
        ValueError: timm has no such weights, or its model computes what this network does not.
    """
    if not given.startswith(PREFIX):
        return read_weights(weights_path(given), average)
    name, device = given.removeprefix(PREFIX), network.norm.weight.device
    if not timm.is_model(name):
        raise ValueError(f"timm {timm.__version__} has no model of this name")
    if not timm.is_model_pretrained(name):
        raise ValueError(f"timm {timm.__version__} has no weights of this name")
    if device.type == "meta":
        with device:
            return StoredWeights(_parameters(timm.create_model(name), network))
    try:
        vit = timm.create_model(name, pretrained=True)
    except Exception as error:  # of the network, its cache, or a name without weights
        raise ValueError(f"timm could not load its weights: {' '.join(str(error).split())}") from error
    return StoredWeights(_parameters(vit, network))


def _parameters(vit: Any, network: VideoTransformer) -> dict[str, Tensor]:
    """The parameters of a ViT of timm; refused if it computes something that neither names nor shapes show."""
    if type(vit) is not VisionTransformer or any(type(block) is not Block for block in vit.blocks):
        raise ValueError(f"timm's {type(vit).__name__} of this name is no plain ViT, which these networks are")
    if vit.no_embed_class:
        raise ValueError("its class token has no position, which it has in these networks")
    first: Any = vit.blocks[0]
    ours = next(module for module in network.modules() if isinstance(module, Heads))
    if first.attn.num_heads != ours.heads:
        raise ValueError(f"it has {first.attn.num_heads} heads, this network {ours.heads}; set --model.size")
    if not math.isclose(first.norm1.eps, ours.norm.eps):
        raise ValueError(f"its layer norms have the epsilon {first.norm1.eps:g}, this network's {ours.norm.eps:g}")
    if type(first.mlp.act).__name__ not in ("GELU", "GELUTanh"):
        raise ValueError(f"its activation is {type(first.mlp.act).__name__}, this network computes GELU")
    return vit.state_dict()


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
        state_dict: a ViT's weights, under timm's names.
        tubelet_init: how the kernel of tubelets starts (ViViT, Eq. 8-9): ``central`` puts the image's kernel at frame
            k // 2 and zeros elsewhere, ``average`` at all k frames, divided by k.

    Returns:
        A line: how many tensors were taken, and what is new.

    Raises:
        ValueError: a parameter of the backbone is missing, has another shape, or has no place in the network. Nothing
            has been changed then.
    """
    image = {new_name(key, TIMM) or key: value for key, value in state_dict.items() if not key.startswith(_HEAD)}
    ours = {key: value for key, value in network.state_dict().items() if _from_image(network, key)}
    sources = {key: re.sub(r"\.scheme\.\w+\.(?=norm|qkv|proj)", ".scheme.attn.", key) for key in ours}
    places = {*sources.values(), "embed.pos_embed", "embed.cls_token"}  # a network may have neither
    values = {key: image[source] for key, source in sources.items() if source in image}
    refuse_other_names(ours, values | {key: value for key, value in image.items() if key not in places})
    stem = "embed.patches.proj.weight"
    if values[stem].ndim != 4:
        shape = tuple(values[stem].shape)
        raise ValueError(f"patch_embed.proj.weight is {shape}, expected that of a convolution, not of a linear stem")
    values[stem] = inflate(values[stem], network.embed.patches.tubelet, tubelet_init)
    if "embed.pos_embed" in ours:
        values["embed.pos_embed"] = _positions(network.embed, values["embed.pos_embed"])
    refuse_other_shapes(ours, values)
    network.load_state_dict(values, strict=False)
    return _summary(network, sources)


def _summary(network: VideoTransformer, sources: Mapping[str, str]) -> str:
    taken = sum(key == source for key, source in sources.items())
    own = [re.sub(r"^aggregate\..*", "classifier", key) for key in network.state_dict() if key not in sources]
    new = sorted({re.sub(r"^blocks\.\d+\.scheme\.|\.(weight|bias)$", "", key) for key in own})
    return f"{taken} tensors of the image model taken; new: {', '.join(new)}"


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
    """Whether a parameter has a counterpart in the image model: of a scheme those of its :class:`Heads`."""
    if key.startswith("aggregate.") or key == "embed.temp_embed":
        return False
    owner = key.rpartition(".")[0]
    if isinstance(network.get_submodule(owner), ZeroLinear):
        return False
    return ".scheme" not in owner or isinstance(network.get_submodule(owner.rpartition(".")[0]), Heads)


def _positions(embed: Embedding, table: Tensor) -> Tensor:
    """Positions of an image, led by the class token's, as a network's table."""
    grid = embed.grid
    space = resize_space(table[:, 1:], stored_grid(table.shape[1] - 1, grid), (grid.h, grid.w))
    if isinstance(embed, JointEmbedding):
        space = repeat(space, "1 s d -> 1 (t s) d", t=grid.t)
    return torch.cat((table[:, : embed.slots], space), dim=1)
