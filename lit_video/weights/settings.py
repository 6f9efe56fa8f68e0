"""Settings that change neither names nor shapes of weights, so that weights trained with others would load silently."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from einops import einsum, rearrange
from torch import Tensor, nn

from lit_video.attention import Grid
from lit_video.network.aggregation import TemporalEncoder
from lit_video.network.embedding import Embedding, JointEmbedding
from lit_video.network.transformer import VideoTransformer
from lit_video.network.vit import vit_size
from lit_video.settings.effects import OWN_PARTS, Effect, data_names, model_names, of_group, picked
from lit_video.utils.clip_shape import as_setting, height_and_width, of_channels, per_channel
from lit_video.utils.yaml_files import read_yaml
from lit_video.weights.hub import RELEASES_FILE
from lit_video.weights.loading import SOURCES, source_of
from lit_video.weights.parts import matching
from lit_video.weights.reading import StoredWeights

WeightsSettings = Literal["apply", "ignore"]
IGNORE = "or --model.weights_settings ignore, to use the weights as they are"
OTHERWISE = "or give --model.weights_settings apply, to take its settings, or ignore, to load the weights as they are"

BASE = "VideoClassifier"  # family of a user's own network
# bias of the classifier, by release; X-ViT's come first, because its files also hold an unused classifier
BIASES = (r".*(mlp_head\.4|new_fc)\.bias$", r".*(head\.bias|classifier\.bias|output_projection/bias)$")
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

SCENIC_EPIC = {"noun": 300, "verb": 97}  # in the order of scenic's classifier (class_splits of its recipe)


def _known(stored: StoredWeights, part: Literal["model", "data"]) -> dict[str, Any]:
    """Return the settings of a release that do not change names and shapes of its weights, by name."""
    source = read_yaml(RELEASES_FILE)["sources"].get(source_of(stored), {})
    of_classes = source.get("classes", {}).get(number_of_classes(stored.tensors), {})
    return _plain(of_group(source.get("settings", {}) | of_classes, part))


def pixel_settings(stored: StoredWeights) -> dict[str, Any]:
    """Return the pixel settings with which the weights were trained, by name, as far as they are known.

    Our own checkpoints store them. Those of X-ViT's, TimeSformer's and scenic's releases are in ``released.yaml``. For
    others they are from :func:`channel_pixels`, but only if the channels are equal: if not, see :func:`fold_pixels`.
    """
    if stored.clips:
        own = picked(stored.clips, data_names("pixels"))
        for key in own.keys() & {"mean", "std"}:
            own[key] = per_channel(key, own[key])
        return own

    of_release = _known(stored, "data")
    if of_release:
        return of_release

    pixels = channel_pixels(stored)
    if pixels is None:
        return {}
    means = set(pixels[0])
    stds = set(pixels[1])
    return {"mean": means.pop(), "std": stds.pop()} if len(means) == len(stds) == 1 else {}


def channel_pixels(stored: StoredWeights) -> tuple[Sequence[float], Sequence[float]] | None:
    """Return mean and deviation of red, green and blue in the weights' training; ``None`` if unknown.

    Sources are timm's configuration and Hugging Face's ``preprocessor_config.json``. With its ``offset``, 1 is
    subtracted from pixels, which is the same as a mean that is larger by 1. A file with ``offset`` and a factor larger
    than 1/255 contradicts ViViT's recipe, so nothing is known.
    """
    preprocessor = stored.preprocessor
    if source_of(stored) == "videomae" and "image_mean" not in preprocessor:
        return IMAGENET

    offset = bool(preprocessor.get("offset"))
    contradicts = offset and preprocessor.get("rescale_factor", 1 / 127.5) > 1 / 255
    if not preprocessor.get("do_normalize", True) or contradicts or "image_mean" not in preprocessor:
        return None

    means = [round(mean + offset, 12) for mean in preprocessor["image_mean"]]
    return means, preprocessor["image_std"]


@torch.no_grad()
def fold_pixels(embed: Embedding, mean: Sequence[float], std: Sequence[float], *, data: Mapping[str, Any]) -> str:
    """Fold the scale of a data set's pixels into the patch projection; return a message, empty for equal pixels.

    A pixel p is x = (p - m) / s here and x' = (p - m') / s' in the weights' training, so x' = x s / s' + (m - m') / s'.
    This is exactly a factor for each channel of the kernel and an addition to its bias.

    ``mean`` and ``std`` are m' and s' of red, green and blue; ``data`` has m, s and the order of the channels.
    """
    data_mean = of_channels(data["mean"])
    data_std = of_channels(data["std"])
    rgb = data["channels"] == "rgb"
    if rgb and (data_mean, data_std) == (tuple(mean), tuple(std)):
        return ""

    proj = embed.patches.proj
    kernel = rearrange(proj.weight.double(), "d (c k) h w -> d c k h w", c=3)
    shift = (kernel.new_tensor(data_mean) - kernel.new_tensor(mean)) / kernel.new_tensor(std)
    factor = kernel.new_tensor(data_std) / kernel.new_tensor(std)

    assert proj.bias is not None
    proj.bias.copy_(proj.bias + einsum(kernel, shift, "d c k h w, c -> d"))
    kernel = kernel * factor[:, None, None, None]
    if not rgb:
        kernel = kernel.flip(1)
    proj.weight.copy_(rearrange(kernel, "d c k h w -> d (c k) h w"))

    means_text = " ".join(str(value) for value in mean)
    stds_text = " ".join(str(value) for value in std)
    return f"it saw pixels of mean {means_text} and deviation {stds_text}: folded into the patches"


def refuse_other_pixels(data: Mapping[str, Any], stored: StoredWeights, otherwise: str = OTHERWISE) -> None:
    """Refuse weights if the data set's pixel settings differ from those in training."""
    settings = pixel_settings(stored)
    other = {name: value for name, value in settings.items() if data[name] != value}
    if other:
        raise ValueError(f"it was trained on other pixels: set {flags(other, 'data')}, {otherwise}")


def number_of_classes(state_dict: Mapping[str, Tensor]) -> int | None:
    """Return the number of outputs of a release's classifier; ``None`` without a classifier."""
    for biases in BIASES:
        keys = matching(state_dict, biases)
        if keys:
            return state_dict[keys[-1]].shape[0]
    return None


def tasks_in_order(state_dict: Mapping[str, Tensor], tasks: Mapping[str, int]) -> dict[str, Tensor]:
    """Put the outputs of scenic's Epic-Kitchens classifier into the order of ``tasks``; return others unchanged."""
    tensors = dict(state_dict)
    if dict(tasks) != SCENIC_EPIC or source_of(StoredWeights(tensors)) != "scenic-vivit":
        return tensors

    counts = list(SCENIC_EPIC.values())
    for key in matching(tensors, "output_projection/"):
        if tensors[key].shape[-1] == sum(counts):
            parts = torch.split(tensors[key], counts, dim=-1)
            by_task = dict(zip(SCENIC_EPIC, parts, strict=True))
            tensors[key] = torch.cat([by_task[task] for task in tasks], dim=-1)
    return tensors


def flags(settings: Mapping[str, Any], part: Literal["model", "data"] = "model") -> str:
    """Return settings as flags of the command line."""
    texts: list[str] = []
    for key, value in settings.items():
        text = "null" if value is None else str(value).lower()
        if isinstance(value, tuple):
            text = f"[{','.join(map(str, value))}]"
        texts.append(f"--{part}.{key} {text}")
    return " ".join(texts)


def model_settings(stored: StoredWeights, *effects: Effect) -> dict[str, Any]:
    """Return the model settings with which the weights were trained, by name; empty if none is known.

    Our checkpoints store them; ``effects`` selects settings by what they change, by default ``function``: the output,
    but no name or shape. The ratio and segments of X-ViT's releases depend on the number of classes; for a number that
    no release has they are left out.
    """
    if stored.model:
        model = _parts_of_size(stored.model) | stored.model
        if stored.model.get("family", BASE) != BASE:  # a part that is not stored was the family's own default
            model = dict.fromkeys(OWN_PARTS) | model
        return _plain(picked(model, model_names(*effects or ("function",))))

    inferred = _known(stored, "model")
    if "cls_in_time" in inferred and matching(stored.tensors, ".*temporal_"):
        inferred["attention_type"] = "divided"
    return inferred


def refuse_other_settings(
    own: Mapping[str, Any], stored: StoredWeights, otherwise: str = OTHERWISE, *effects: Effect
) -> None:
    """Refuse weights that would load but mean something else: of another family, settings, or tasks.

    Args:
        own: the model's settings and family.
        stored: the weights.
        otherwise: advice at the end of the message.
        effects: see :func:`model_settings`; with any, also refuse weights for another number of classes.

    Raises:
        ValueError: the weights do not suit; the message names flags that would fit.
    """
    family = own.get("family", BASE)
    stored_family = stored.model.get("family", BASE)
    source = source_of(stored)
    if source and "family" not in stored.model:
        stored_family = SOURCES[source].family
    if stored_family != family and BASE not in (stored_family, family):
        raise ValueError(f"it is of another kind of model: set --model {stored_family} (here {family}), {otherwise}")

    tasks = _tasks(own)
    stored_tasks = _tasks(stored.model)
    same_number = sum(tasks.values()) == sum(stored_tasks.values())
    if stored_tasks and tasks != stored_tasks and (effects or same_number):
        classes = f"its classes are {stored.model['num_classes']}, here {own.get('num_classes')}"
        raise ValueError(f"{classes}: use data with its classes, {otherwise}")

    settings = _plain(own) | _parts_of_size(own)
    trained_with = model_settings(stored, *effects)
    if settings.get("segments") is None and (trained_with.get("segments") or 0) >= settings.get("num_frames", 0) > 0:
        settings["segments"] = trained_with["segments"]  # segments as many as frames are the same as no segments
    other = {key: value for key, value in trained_with.items() if settings.get(key, value) != value}
    if other:
        raise ValueError(f"it was trained with other settings: set {flags(other)}, {otherwise}")

    if "scope" in trained_with and "ratio" not in trained_with:
        counts = ", ".join(str(count) for count in sorted(read_yaml(RELEASES_FILE)["sources"]["xvit"]["classes"]))
        unknown = f"X-ViT's releases have {counts} classes, these weights {number_of_classes(stored.tensors)}"
        advice = "set them as in training, with --model.weights_settings ignore"
        raise ValueError(f"{unknown}: their ratio and segments are not known; {advice}")


def _tasks(settings: Mapping[str, Any]) -> OrderedDict[str, int]:
    """Return the number of classes of each task; as an ordered dict, so that another order of tasks is not equal."""
    classes = settings.get("num_classes")
    if isinstance(classes, Mapping):
        return OrderedDict(classes)
    return OrderedDict({"": classes} if isinstance(classes, int) else {})


def known_grid(network: nn.Module, stored: StoredWeights) -> Grid | None:
    """Return the grid of patches for which positions are stored, by the settings beside them; ``None`` if unknown."""
    if not isinstance(network, VideoTransformer):
        return None

    patches = network.embed.patches
    config = stored.config
    clip: dict[str, Any] = {
        "image_size": config.get("image_size"),
        "num_frames": config.get("num_frames", patches.tubelet_size),
    }
    clip |= stored.clips | stored.model
    try:
        if clip["image_size"] is None:
            clip["image_size"] = config["pretrained_cfg"]["input_size"][1:]  # timm
        num_frames = min(clip.get("segments") or clip["num_frames"], clip["num_frames"])
        height, width = height_and_width(clip["image_size"])
        return Grid(*patches.grid(num_frames, height, width))
    except (LookupError, TypeError, ValueError):
        return None  # the clip's size is unknown, or its patches differ, and then the check of shapes refuses them


def other_grid(network: nn.Module, stored: StoredWeights, image: bool = False) -> str:
    """Say how the grid of stored positions differs from the network's; empty if it is equal or unknown."""
    grid = known_grid(network, stored)
    if grid is None or not isinstance(network, VideoTransformer) or network.embed.pos_embed is None:
        return ""

    embed = network.embed
    in_time = isinstance(embed, JointEmbedding) or isinstance(network.aggregate, TemporalEncoder)
    any_length_fits = image or not (in_time or embed.temp_embed is not None)
    first = 1 if any_length_fits else 0
    there = _by_sides(grid[first:])
    here = _by_sides(embed.grid[first:])
    return "" if there == here else f"its positions are of {there} patches, here they are of {here}"


def _by_sides(sides: Sequence[int]) -> str:
    return " x ".join(str(side) for side in sides)


def refuse_another_grid(network: nn.Module, stored: StoredWeights, otherwise: str = OTHERWISE) -> None:
    """Refuse one of our checkpoints if its positions have another grid, even with the same number of patches."""
    difference = other_grid(network, stored)
    if difference:
        settings = stored.model | stored.clips
        clip = {"num_frames": settings["num_frames"], "image_size": as_setting(settings["image_size"])}
        raise ValueError(f"{difference}: set {flags(clip, 'data')}, {otherwise}")


def line_on_grid(network: nn.Module, stored: StoredWeights, image: bool = False) -> str:
    """Say that positions are resized, or that their grid had to be guessed; empty if neither."""
    difference = other_grid(network, stored, image)
    if difference:
        return f"{difference}: resized"

    grid_is_known = source_of(stored) not in (None, "hf-vivit") or known_grid(network, stored)
    if grid_is_known or not isinstance(network, VideoTransformer):
        return ""
    grid = network.embed.grid
    if image and grid.h == grid.w:
        return ""

    side = _by_sides(grid[1:])
    scheme = "" if image else "this scheme, "
    guess = f"{scheme}positions for {side} patches, or for a square if the number is another"
    return f"its settings are not known; assumed: {guess}"


def _parts_of_size(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a model's size, such as ``size.depth``; empty for ConvNets and users' networks."""
    try:
        return {f"size.{name}": value for name, value in vit_size(model["size"]).parts().items()}
    except (LookupError, TypeError, ValueError, AttributeError):
        return {}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with their lists sorted, so that the order of a list's values does not count in comparisons."""
    plain = dict(settings)
    for key, value in settings.items():
        if isinstance(value, list | tuple):
            plain[key] = tuple(sorted(value))
    return plain
