"""Image ViTs into a video transformer's backbone: timm builds and reads them, one mapping takes timm's names."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
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
    """Parameters of an image ViT under timm's names.

    Args:
        given: ``timm:NAME``, a model that timm builds with the weights that it downloads or has in its cache; a file of
            Google's ``.npz``, which timm reads; or what :func:`~lit_video.weights.reading.read_weights` reads.
        network: the video transformer that starts from them.
        average: see :func:`~lit_video.weights.reading.read_weights`.

    Raises:
        UserError: the file does not exist, or cannot be read.
        ValueError: timm has no such weights, or its model computes what this network does not.
    """
    if given.startswith(PREFIX):
        return StoredWeights(_parameters(_of_timm(given.removeprefix(PREFIX)), network))
    path = weights_path(given)
    if path.suffix == ".npz":
        return StoredWeights(_parameters(_of_google(path), network))
    return read_weights(path, average)


def check_image_vit(given: str, network: VideoTransformer) -> None:
    """Refuse an image ViT that does not fit a network on the meta device; of timm's, nothing is downloaded.

    Raises:
        UserError: the file does not exist, or cannot be read.
        ValueError: as :func:`read_image_vit` and :func:`load_image_vit`.
    """
    if given.startswith(PREFIX):
        name = _known(given.removeprefix(PREFIX))
        with torch.device("meta"):
            parameters = _parameters(timm.create_model(name), network)
    else:
        parameters = read_image_vit(given, network).tensors
    load_image_vit(network, parameters)


def _known(name: str) -> str:
    if not timm.is_model(name):
        raise ValueError(f"timm {timm.__version__} has no model of this name")
    if not timm.is_model_pretrained(name):
        raise ValueError(f"timm {timm.__version__} has no weights of this name")
    return name


def _of_timm(name: str) -> Any:
    _known(name)
    try:
        return timm.create_model(name, pretrained=True)
    except Exception as error:  # of the network, its cache, or a name without weights
        raise ValueError(f"timm could not load its weights: {' '.join(str(error).split())}") from error


def _of_google(path: Path) -> Any:
    """A ViT of the arrays' shapes, which timm fills from them (AugReg, and the first ViT's)."""
    arrays = read_weights(path).tensors
    shapes = {name.removeprefix("opt/target/"): value.shape for name, value in arrays.items()}
    try:
        layer = "Transformer/encoderblock_0"
        patch, _, _, width = shapes["embedding/kernel"]
        side = math.isqrt(shapes["Transformer/posembed_input/pos_embedding"][1] - 1)
        vit = VisionTransformer(
            img_size=side * patch,
            patch_size=patch,
            embed_dim=width,
            depth=len({name.split("/")[1] for name in shapes if "/encoderblock_" in name}),
            num_heads=shapes[f"{layer}/MultiHeadDotProductAttention_1/query/kernel"][1],
            mlp_ratio=shapes[f"{layer}/MlpBlock_3/Dense_0/kernel"][1] / width,
            num_classes=0,
        )
        vit.load_pretrained(str(path))
    except (LookupError, RuntimeError, ValueError) as error:
        raise ValueError(f"timm could not read it as a ViT of Google's: {' '.join(str(error).split())}") from error
    rest = sum(math.prod(shape) for name, shape in shapes.items() if not name.startswith(("head/", "pre_logits/")))
    if rest != sum(parameter.numel() for parameter in vit.parameters()):
        raise ValueError("it holds more than a ViT of square images, its class token and its classifier")
    return vit


def _parameters(vit: Any, network: VideoTransformer) -> dict[str, Tensor]:
    """The parameters of a ViT of timm, unless it computes something that neither names nor shapes show.

    Raises:
        ValueError: another kind of ViT, or with other heads, norms or activation.
    """
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
        A line: how many tensors were taken, what was resized or copied, and what is new.

    Raises:
        ValueError: a parameter of the backbone is missing, has another shape, or has no place in the network. Nothing
            has been changed then.
    """
    image = {new_name(key, TIMM) or key: value for key, value in state_dict.items() if not key.startswith(_HEAD)}
    ours = {key: value for key, value in network.state_dict().items() if _from_image(network, key)}
    sources = {key: re.sub(r"\.scheme\.\w+_attn\.", ".scheme.attn.", key) for key in ours}
    places = {*sources.values(), "embed.pos_embed", "embed.cls_token"}  # a network may have neither
    values = {key: image[source] for key, source in sources.items() if source in image}
    refuse_other_names(ours, values | {key: value for key, value in image.items() if key not in places})
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
    refuse_other_shapes(ours, values)
    network.load_state_dict(values, strict=False)
    return _summary(network, sources, image)


def _summary(network: VideoTransformer, sources: Mapping[str, str], image: Mapping[str, Tensor]) -> str:
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
    """Name the part of the network that a parameter belongs to."""
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
    grid = embed.grid
    space = resize_space(table[:, 1:], stored_grid(table.shape[1] - 1, grid), (grid.h, grid.w))
    if isinstance(embed, JointEmbedding):
        space = repeat(space, "1 s d -> 1 (t s) d", t=grid.t)
    return torch.cat((table[:, : embed.slots], space), dim=1)
