"""Image ViTs as starting weights of a backbone: read under timm's names, then renamed to ours."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any, Literal

import timm
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, repeat
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from lit_video.attention import Attention, Grid, Scheme, ZeroLinear
from lit_video.errors import one_line
from lit_video.network.embedding import Embedding, JointEmbedding
from lit_video.network.positions import resize_space
from lit_video.network.transformer import VideoTransformer, normed_mean
from lit_video.network.vit import SIZES, ViTSize
from lit_video.weights.hub import IMAGES, find, weights_path
from lit_video.weights.mapping import TIMM, new_name, refuse_other_names, refuse_other_shapes, stored_grid
from lit_video.weights.parts import matching, without
from lit_video.weights.reading import StoredWeights, read_weights

# parts beside the features: the classifier, MAE's decoder and DINOv2's mask token
NOT_FEATURES = "head|attn_pool|pre_logits|fc_norm|decoder_|mask_token"
_GELUS = dict.fromkeys(("GELUTanh", "QuickGELU"), "GELU")
_INERT = ("Identity", "Dropout", "DropPath", "PatchDropout")  # no effect in evaluation
STILLS_PREFIX = "stills-"
OPTIONAL = r"embed\.(cls_token|pos_embed)$"  # a network may lack these
TubeletInit = Literal["central", "average"]


def read_image_vit(setting: str, network: VideoTransformer, average: bool | None = None) -> StoredWeights:
    """Read an image ViT's parameters under timm's names; ``preprocessor`` of the result has mean and std of its pixels.

    Args:
        setting: ``timm:NAME`` for a model of timm with its weights; else a file, a folder or a run, see
            :func:`weights_path`.
        network: video transformer that takes them; if it is on the meta device, nothing is downloaded.
        average: see :func:`~lit_video.weights.reading.read_weights`.
    """
    if setting.startswith(IMAGES):
        return _read_timm(setting, network)

    stored = read_weights(weights_path(setting), average)
    stills = re.match(rf"{STILLS_PREFIX}\S+x(\d+)-w", Path(setting).name)
    if stills:
        pixels = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
        return replace(stored, config={"image_size": int(stills[1])}, preprocessor=pixels)

    # class and register tokens may have no positions (timm's no_embed_class), and a file does not say so: they lack
    # them if the number of positions is a square, and would not be a square without those of the tokens
    tensors = stored.tensors
    if "pos_embed" in tensors and "cls_token" in tensors and tensors["pos_embed"].ndim == 3:
        table = tensors["pos_embed"]
        positions = table.shape[1]
        num_prefix_tokens = 1
        if "reg_token" in tensors:
            num_prefix_tokens += tensors["reg_token"].shape[1]
        if _is_square(positions) and not _is_square(positions - num_prefix_tokens):
            tensors = tensors | {"pos_embed": F.pad(table, (0, 0, num_prefix_tokens, 0))}
    return replace(stored, tensors=tensors)


def _is_square(number: int) -> bool:
    return isqrt(max(number, 0)) ** 2 == number


def _read_timm(setting: str, network: VideoTransformer) -> StoredWeights:
    """Build ``timm:NAME``, with its weights unless the network is on the meta device."""
    name = setting.removeprefix(IMAGES)
    vit = on_meta(name)
    refuse_other_structure(vit, network)
    if not timm.is_model_pretrained(name):
        raise ValueError(f"timm {timm.__version__} has no weights of this name")

    if network.norm.weight.device.type != "meta":
        fetched = find(setting).here  # timm takes the file, since it would otherwise ask the hub first
        overlay = {"state_dict": read_weights(fetched).tensors} if fetched else None
        try:
            vit = timm.create_model(name, pretrained=True, pretrained_cfg_overlay=overlay)
        except Exception as error:  # no connection, a damaged cache, or a name without weights
            raise ValueError(f"timm could not load its weights: {one_line(error)}") from error

    tensors = vit.state_dict()
    if vit.no_embed_class and "pos_embed" in tensors:  # prefix tokens have no positions: pad with zeros
        tensors["pos_embed"] = F.pad(tensors["pos_embed"], (0, 0, vit.num_prefix_tokens, 0))

    config = vit.pretrained_cfg
    pixels = {"image_mean": config["mean"], "image_std": config["std"]}
    return StoredWeights(tensors, {"image_size": [*vit.patch_embed.img_size]}, preprocessor=pixels)


def load_image_vit(
    network: VideoTransformer,
    state_dict: Mapping[str, Tensor],
    tubelet_init: TubeletInit = "central",
    *,
    grid: Grid | None = None,
) -> str:
    """Initialise the backbone from an image ViT; return a summary of what was taken and what is new.

    Classifier, temporal positions and layers over frames are unchanged. Spatial positions are resized bicubically to
    the network's grid, as in X-ViT's release and unlike TimeSformer's and ViViT's, see
    :class:`~lit_video.network.positions.Resizing`; for a joint table they are also repeated over time (ViViT, section
    3.4). A class token or positions that the network lacks are left out. Further attention layers of a block, such as
    attention in time, start as copies of the image model's attention, but keep a last layer of zeros (TimeSformer's
    release). Parts of the image model that these networks lack are first folded into others, see :func:`folded`.

    Args:
        network: the video transformer, changed in place.
        state_dict: a ViT's weights, under timm's names.
        tubelet_init: initialisation of the kernel of tubelets, see :func:`inflate`.
        grid: grid of the stored positions; ``None`` takes the network's if the number of positions fits, else a square.
    """
    image = {new_name(key, TIMM) or key: value for key, value in folded(state_dict).items()}
    if "cls_token" not in state_dict and network.embed.cls_token is not None:
        raise ValueError("it has no class token, which this network has: give --model ViViT --model.pool mean")
    if network.readout is normed_mean:
        raise ValueError("pool is fc_norm, the norm of a mean, which image models here do not have: give mean or token")

    backbone = {}  # parameters that start from the image model
    values = {}  # their values
    new = set()  # the other parameters, for the summary
    unused = dict(image)
    fresh = _starting_afresh(network)
    for key, value in network.state_dict().items():
        if key.startswith(fresh) or not _from_image(network, key):
            part = re.sub(r"^aggregate\..*", "classifier", key)
            new.add(re.sub(r"^blocks\.\d+\.scheme\.|\.(weight|bias)$", "", part))
            continue

        backbone[key] = value
        source = re.sub(r"\.scheme\.\w+\.(?=norm|qkv|proj)", ".scheme.attn.", key)
        if source in image:
            values[key] = image[source]
            unused.pop(source, None)
    refuse_other_names(backbone, values | without(unused, OPTIONAL))

    stem = "embed.patches.proj.weight"
    if values[stem].ndim != 4:
        shape = tuple(values[stem].shape)
        raise ValueError(f"patch_embed.proj.weight is {shape}, expected that of a convolution, not of a linear stem")
    values[stem] = inflate(values[stem], network.embed.patches.tubelet_size, tubelet_init)

    if "embed.pos_embed" in backbone:
        slots = int("embed.cls_token" in image)
        # the table goes to the network's device, which may be the meta device in a check
        table = values["embed.pos_embed"].to(backbone["embed.pos_embed"].device)
        values["embed.pos_embed"] = _positions(network.embed, table, slots, stored=grid)

    refuse_other_shapes(backbone, values)
    network.load_state_dict(values, strict=False)

    taken = f"{len(image) - len(unused)} tensors of the image model taken; new: {', '.join(sorted(new))}"
    return "; ".join([taken, *(f"{key} left out" for key in unused)])


def folded(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return an image ViT's backbone parameters, with parts that these networks lack folded into others.

    The outputs stay equal.

    LayerScale multiplies the rows of the previous layer (DINOv2). A bias that all blocks lack, or that the patch
    projection lacks (CLIP), becomes zero. Positions of register tokens are added to the tokens.
    """
    image = without(state_dict, NOT_FEATURES)
    _fold_layer_scale(image, "ls1.gamma", "attn.proj")
    _fold_layer_scale(image, "ls2.gamma", "mlp.fc2")

    for layer in ("patch_embed.proj", "attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2"):
        if not matching(image, rf".*{layer}\.bias$"):
            for key in matching(image, rf".*{layer}\.weight$"):
                image[key.replace(".weight", ".bias")] = image[key].new_zeros(len(image[key]))

    if "reg_token" in image and "pos_embed" in image:
        table = image["pos_embed"]
        start = int("cls_token" in image)
        end = start + image["reg_token"].shape[1]
        image["reg_token"] = image["reg_token"] + table[:, start:end]
        image["pos_embed"] = torch.cat((table[:, :start], table[:, end:]), dim=1)
    return image


def _fold_layer_scale(image: dict[str, Tensor], scale: str, layer: str) -> None:
    """Multiply the rows of a layer by the LayerScale that follows it, in place, and remove the scale."""
    for key in matching(image, rf"blocks\.\d+\.{scale}$"):
        gamma = image.pop(key)
        weight = key.replace(scale, f"{layer}.weight")
        bias = key.replace(scale, f"{layer}.bias")
        if weight in image:
            image[weight] = image[weight] * gamma[:, None]
        if bias in image:
            image[bias] = image[bias] * gamma


def inflate(kernel: Tensor, tubelet_size: int, how: TubeletInit) -> Tensor:
    """Inflate the kernel ``(d, 3, p, p)`` of p x p patches to tubelets of k frames: ``(d, 3 * k, p, p)``.

    Source: ViViT, arXiv:2103.15691, Eq. 8 (``average``: the kernel divided by k in every frame) and Eq. 9
    (``central``: the kernel in frame k // 2, zeros in the others). d: width of a token.
    """
    if how not in ("central", "average"):
        raise ValueError(f"tubelet_init is {how!r}, expected central or average")

    if how == "central":
        frames = (torch.arange(tubelet_size, device=kernel.device) == tubelet_size // 2).to(kernel.dtype)
    else:
        frames = torch.full((tubelet_size,), 1 / tubelet_size, dtype=kernel.dtype, device=kernel.device)

    inflated = einsum(kernel, frames, "d c h w, k -> d c k h w")
    return rearrange(inflated, "d c k h w -> d (c k) h w")


def _starting_afresh(network: VideoTransformer) -> tuple[str, ...]:
    """Return beginnings of the names of parameters that no image model has, as the embedding and each scheme say."""
    names = ["readout.", "aggregate.", "embed.temp_embed"]
    for part, module in network.named_modules():
        if isinstance(module, Embedding | Scheme):
            names += [f"{part}.{name}" for name in module.fresh]
    return tuple(names)


def _from_image(network: VideoTransformer, key: str) -> bool:
    """Return whether a parameter starts from the image model; in a scheme, only parameters of :class:`Attention` do."""
    owner = key.rpartition(".")[0]
    if isinstance(network.get_submodule(owner), ZeroLinear):
        return False
    return ".scheme" not in owner or isinstance(network.get_submodule(owner.rpartition(".")[0]), Attention)


def _positions(embed: Embedding, table: Tensor, slots: int, *, stored: Grid | None) -> Tensor:
    """Convert an image model's positions to a network's; the first ``slots`` (0 or 1) belong to the class token.

    ``stored`` is the grid of the image model's positions, if it is known.
    """
    grid = embed.grid
    cells = table.shape[1] - slots
    sides = (stored.h, stored.w) if stored and stored.h * stored.w == cells else stored_grid(cells, grid)
    space = resize_space(table[:, slots:], sides, (grid.h, grid.w))
    if isinstance(embed, JointEmbedding):
        space = repeat(space, "1 s d -> 1 (t s) d", t=grid.t)
        if embed.time_std:
            space = space + embed.first_times()
    return torch.cat((table[:, : embed.slots], space), dim=1)


@cache
def on_meta(name: str) -> Any:
    """Build a timm model on the meta device, once for all who only read it; nothing is downloaded."""
    if not timm.is_model(name):
        raise ValueError(f"timm {timm.__version__} has no model of this name")
    with torch.device("meta"):
        return timm.create_model(name)


def structure(vit: Any) -> ViTSize:
    """Return the size of our network that computes the same as a timm model; refuse parts without a counterpart."""
    if type(vit).__name__ != "VisionTransformer":
        raise ValueError(f"timm's {type(vit).__name__} of this name is no plain ViT, which these networks are")

    for name, kind in sorted(_parts(vit) - _plain_parts()):
        raise ValueError(f"its {name} is {kind}, which these networks do not have")

    if not isinstance(vit.norm, nn.LayerNorm):
        raise ValueError("its last norm is that of a mean over tokens, which image models here do not have")

    features = without(dict(vit.named_modules()), NOT_FEATURES).values()
    epsilons = {part.eps for part in features if isinstance(part, nn.LayerNorm)}
    if len(epsilons) > 1:
        raise ValueError(f"its layer norms have the epsilons {epsilons}, these networks have one")

    registers = vit.num_reg_tokens
    if registers and not vit.has_class_token:
        raise ValueError("it has register tokens without a class token, which these networks do not have")

    mlp = vit.blocks[0].mlp
    return ViTSize(
        embed_dim=vit.embed_dim,
        depth=len(vit.blocks),
        num_heads=vit.blocks[0].attn.num_heads,
        mlp_ratio=mlp.fc1.out_features / vit.embed_dim,
        eps=epsilons.pop(),
        gelu="quick" if type(mlp.act).__name__ == "QuickGELU" else None,
        norm_pre=isinstance(vit.norm_pre, nn.LayerNorm),
        registers=registers,
    )


@cache
def _plain_parts() -> set[tuple[str, str]]:
    """Return name and class of every part of a plain ViT that these networks have, see :func:`_parts`."""
    with torch.device("meta"):
        plain = VisionTransformer(
            img_size=8, patch_size=8, embed_dim=8, depth=1, num_heads=1, init_values=1.0, pre_norm=True
        )
    return _parts(plain)


def _parts(vit: nn.Module) -> set[tuple[str, str]]:
    """Return name and class of every part before the head; layers have no numbers, and all GELUs are one class."""
    parts = set()
    for name, part in without(dict(vit.named_modules()), NOT_FEATURES).items():
        kind = type(part).__name__
        kind = _GELUS.get(kind, kind)
        if isinstance(part, nn.LayerNorm):
            kind = "LayerNorm"

        if kind not in _INERT:
            parts.add((re.sub(r"\.\d+", ".*", name), kind))
    return parts


def refuse_other_structure(vit: Any, network: VideoTransformer) -> None:
    """Refuse a model of timm that the network does not match; the message names the flags to set.

    GELU and its tanh approximation count as equal: they differ by less than 5e-4, and timm itself exchanges them.
    """
    image_size = structure(vit)
    image_parts = image_size.parts() | {"patch_size": vit.patch_embed.patch_size[0]}

    size = network.size
    parts = size.parts() | {"patch_size": network.embed.patches.patch_size}
    parts["gelu"] = "quick" if size.gelu == "quick" else None
    parts["mlp_ratio"] = round(size.embed_dim * size.mlp_ratio) / size.embed_dim

    differences = [
        f"{name} {value} (here {parts[name]})" for name, value in image_parts.items() if value != parts[name]
    ]
    if differences:
        advice = f"set --model.size {spec(image_size)} --model.patch_size {image_parts['patch_size']}"
        raise ValueError(f"it is another ViT, {', '.join(differences)}: {advice}")


def spec(size: ViTSize) -> str:
    """Return a size as the value of a flag: its name, or the parts in which it differs from the default."""
    for name, standard in SIZES.items():
        if standard.parts() == size.parts():
            return name

    defaults = {"mlp_ratio": 4.0}
    parts = {key: value for key, value in size.parts().items() if value != defaults.get(key)}
    fields = ", ".join(f"{key}: {str(value).lower()}" for key, value in parts.items())
    return f"'{{{fields}}}'"
