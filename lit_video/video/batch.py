"""Preparation of a batch: random draws on the CPU; normalising, erasing, mixing and labels on the clips' device."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import torch
from einops import rearrange, repeat
from torch import Tensor

from lit_video.errors import UserError
from lit_video.settings.effects import picked
from lit_video.utils.classes import IGNORED, Classes, by_task, outputs, soft_labels
from lit_video.utils.clip_shape import PerChannel, of_channels
from lit_video.utils.text import plural
from lit_video.video.augmentation import Augmentation
from lit_video.video.crops import Box
from lit_video.video.seeding import digest

NORMALISED = "expected a tensor of normalised float values (b, 3, t, height, width)"


class Batch(TypedDict):
    """A batch of ``b`` clips with ``t`` frames each, as models see it.

    ``clip``: normalised floats ``(b, 3, t, height, width)``. ``video`` and ``view`` of each clip: numbers ``(b,)``.
    ``target``: class numbers ``(b,)`` or ``(b, tasks)``; in training probabilities ``(b, classes)``, where ``classes``
    is the sum over all tasks. If a video may have several labels, the target is multi-hot, ``(b, classes)``.
    Losses and metrics ignore an unreadable video. Its clip is zero (grey), ``video`` is -1, and ``target`` is -100
    (``IGNORED``), or all zero if targets are probabilities.
    """

    clip: Tensor
    target: Tensor
    video: Tensor
    view: Tensor


def as_batch(
    loaded: Any, numbers: Callable[[Tensor], Tensor], *, labelled: bool = True, features: bool = False
) -> Batch:
    """Convert the batch of any loader: ``(clip, class)``, or a mapping with ``clip`` and ``target``.

    Clips must be normalised floats. If the batch has no ``video``, each clip counts as a video of its own.

    Args:
        loaded: the loader's batch.
        numbers: function from indices in the batch to numbers among all clips, for batches without ``video``.
        labelled: whether the batch needs a target; without one, ``target`` is -100.
        features: whether clips are features, which may have any shape.
    """
    entries = _named(loaded)
    names = {"clip"} | entries.keys() & {"video", "view"}
    if labelled:
        names.add("target")
    for name in sorted(names):
        if not isinstance(entries.get(name), Tensor):
            expected = "a batch is (clip, class), or a mapping of tensors with clip and target"
            kind = f"{name} is a {type(entries.get(name)).__name__} (given: {', '.join(entries)})"
            raise UserError(f"{expected}, and video and view if clips share videos; {kind}")

    clip = entries["clip"]
    if clip.ndim != 5 and not features:
        raise UserError(f"clip is {_kind(clip)}, {NORMALISED}")
    check_floating(clip)

    index = torch.arange(len(clip), device=clip.device)
    batch: Any = {"target": torch.full_like(index, IGNORED)}
    if not {"video", "view"} <= names:
        clip_numbers = numbers(index)
        batch["video"] = clip_numbers
        batch["view"] = clip_numbers
    return batch | picked(entries, sorted(names))


def _named(batch: Any) -> Mapping[str, Any]:
    """Return the entries of a loader's batch by name."""
    if isinstance(batch, Mapping):
        return batch
    if isinstance(batch, list | tuple) and len(batch) <= 2:
        return dict(zip(("clip", "target"), batch, strict=False))
    return {"clip": batch}


def _kind(x: Tensor) -> str:
    """Return a tensor's type and shape, for messages."""
    return f"{str(x.dtype).removeprefix('torch.')} {tuple(x.shape)}"


def check_floating(clip: Tensor) -> None:
    """Refuse a clip of whole numbers, such as the uint8 frames of a decoder: models take normalised pixels."""
    if not isinstance(clip, Tensor):
        raise UserError(f"clip is a {type(clip).__name__}, {NORMALISED}")
    if not clip.is_floating_point():
        raise UserError(f"clip is {_kind(clip)}, {NORMALISED}")


def _axes(target: Tensor, classes: Classes, several_labels: bool) -> tuple[int, ...]:
    """Return a target's shape after the batch axis: ``()``, ``(tasks,)`` or ``(classes,)``."""
    if several_labels or target.is_floating_point():
        return (outputs(classes),)
    return (len(classes),) if isinstance(classes, dict) else ()


def check_axes(clip: Tensor, num_frames: int) -> None:
    """Refuse a clip whose shape is not ``(batch, 3, frames, height, width)``; ``num_frames`` 0 allows any number.

    A call that turns the clip into this shape is advised only if its result has the model's number of frames.
    """
    shape = tuple(clip.shape)
    if len(shape) == 5 and shape[1] == 3 and num_frames in (0, shape[2]):
        return

    # calls that give a clip five axes, the usual ones first, and the colours and frames that they make of it
    arrangements: dict[str, tuple[int, int]] = {}
    if len(shape) == 4:
        first, second, _, fourth = shape
        arrangements["clip[None]"] = (first, second)
        arrangements["clip.transpose(0, 1)[None]"] = (second, first)
        arrangements["clip.permute(3, 0, 1, 2)[None]"] = (fourth, first)
    elif len(shape) == 5:
        _, first, second, _, fourth = shape
        arrangements["clip"] = (first, second)
        arrangements["clip.transpose(1, 2)"] = (second, first)
        arrangements["clip.permute(0, 4, 1, 2, 3)"] = (fourth, first)

    frames_of_call = {call: frames for call, (colours, frames) in arrangements.items() if colours == 3}
    fitting = [call for call, frames in frames_of_call.items() if num_frames in (0, frames)]
    advice = ""
    if fitting:
        advice = f"; {fitting[0]} has this shape"
    elif frames_of_call:
        frames = next(iter(frames_of_call.values()))
        advice = f"; it has {plural(frames, 'frame')}, the model takes {num_frames}: choose as many"
    expected = f"expected (batch, 3 colours, {num_frames or 'frames'}, height, width)"
    raise ValueError(f"a clip is {shape}, {expected}{advice}")


def labelled(batch: Batch, classes: Classes, *, several_labels: bool, training: bool) -> Batch:
    """Check targets, and convert class numbers to int64; a clip of class -100 counts as unreadable."""
    target = batch["target"]
    is_soft = target.is_floating_point()
    may_be_soft = training or several_labels
    if target.shape[1:] != _axes(target, classes, several_labels) or (is_soft and not may_be_soft):
        kind = "a one or zero for each class" if several_labels else "class numbers"
        axes = "".join(f" {size}" for size in _axes(target.long(), classes, several_labels))
        expected = f"expected {kind} (b,{axes}) of {classes} classes; for regression see docs/in_python.md"
        raise UserError(f"target is {_kind(target)}, {expected}")

    is_ignored = (target == IGNORED).reshape(len(target), -1).any(1)
    return Batch(
        clip=batch["clip"],
        target=target if is_soft else target.long(),
        video=batch["video"].masked_fill(is_ignored, -1),
        view=batch["view"],
    )


def check_classes(batch: Any, classes: Classes, several_labels: bool) -> None:
    """Refuse class numbers that the model does not have, and probabilities outside 0 to 1, in a batch on the CPU."""
    target = _named(batch).get("target")
    if not isinstance(target, Tensor) or target.device.type != "cpu" or not target.ndim:
        return
    if target.shape[1:] != _axes(target, classes, several_labels):
        return  # labelled() refuses it later

    highest = torch.tensor(1)  # highest probability
    if not (several_labels or target.is_floating_point()):
        highest = torch.tensor([*by_task(classes).values()]).squeeze() - 1
    rounding = 1e-3  # mixed probabilities add up to 1 within rounding
    is_valid = (target > -rounding) & (target < highest + rounding)
    is_wrong = ~(is_valid | (target == IGNORED))
    if is_wrong.any():
        clip = f"clip {is_wrong.nonzero()[0, 0]} of a batch, counted from 0, has the label {target[is_wrong][0]:g}"
        raise UserError(f"{clip}, expected 0 to {highest.tolist()} of {classes} classes, or {IGNORED} for none")


class Mixture(NamedTuple):
    """Mixing of each clip of a batch with its neighbour, a clip before it; labels are mixed in the same shares."""

    share: float  # the neighbour's share, 0 to 1
    box: Box | None = None  # box that is copied from the neighbour; None to blend all pixels
    apart: int = 1  # clips from the neighbour to the clip: 2 if each film stands beside its reverse


class BatchDraws(NamedTuple):
    """Random draws for the augmentation of a batch."""

    boxes: Tensor | None  # (b, 4): for each clip a Box to erase, or zeros; None if no clip is erased
    mixture: Mixture | None


class RawBatch(TypedDict):
    """A batch as the loader collates it: :class:`~lit_video.video.clips.Sample` with a leading axis."""

    clip: Tensor
    label: Tensor
    video: Tensor
    first_view: Tensor
    key: Tensor
    broken: list[str]
    gap: NotRequired[list[str]]
    draws: NotRequired[BatchDraws]  # in training


Channels = Literal["rgb", "bgr"]


def evaluation_batch(raw: RawBatch, mean: PerChannel, std: PerChannel, *, channels: Channels = "rgb") -> Batch:
    """Turn every view into a normalised clip."""
    device = raw["clip"].device
    views = raw["clip"].shape[1]
    view = raw["first_view"][:, None] + torch.arange(views, device=device)

    clip = normalise(raw["clip"], mean, std, channels=channels)
    label = raw["label"]
    video = raw["video"]
    if any(raw["broken"]):
        is_broken = torch.tensor([bool(reason) for reason in raw["broken"]]).to(device, non_blocking=True)
        label = label.masked_fill(_beside(is_broken, label), IGNORED)
        video = video.masked_fill(is_broken, -1)
        by_video = rearrange(clip, "(b v) ... -> b v ...", v=views)
        by_video.masked_fill_(_beside(is_broken, by_video), 0)

    return Batch(
        clip=clip,
        target=repeat(label, "b ... -> (b v) ...", v=views),
        video=repeat(video, "b -> (b v)", v=views),
        view=rearrange(view, "b v -> (b v)"),
    )


def training_batch(
    raw: RawBatch,
    mean: PerChannel,
    std: PerChannel,
    *,
    classes: Classes,
    smoothing: float,
    draws: BatchDraws,
    channels: Channels = "rgb",
) -> Batch:
    """Erase a box per clip, smooth the labels, mix clips and labels."""
    batch = evaluation_batch(raw, mean, std, channels=channels)
    clip = batch["clip"]
    target = soft_labels(batch["target"], classes, smoothing)

    if draws.boxes is not None:
        clip = erase(clip, draws.boxes)
    if draws.mixture is not None:
        clip, target = mix(clip, target, draws.mixture)
    return Batch(clip=clip, target=target, video=batch["video"], view=batch["view"])


def _beside(of_clips: Tensor, x: Tensor) -> Tensor:
    """Add axes of size 1 to a value per clip, so that it broadcasts with ``x``."""
    ones = [1] * (x.ndim - 1)
    return of_clips.reshape(-1, *ones)


def normalise(clip: Tensor, mean: PerChannel, std: PerChannel, *, channels: Channels = "rgb") -> Tensor:
    """Normalise by (x / 255 - mean) / std: uint8 ``(b, v, t, 3, height, width)`` -> ``(b * v, 3, t, height, width)``.

    ``v``: number of views. ``bgr`` reverses the channels. Features are only reshaped: ``(b, v, ...) -> (b * v, ...)``.
    """
    if clip.is_floating_point():
        return clip.flatten(0, 1).float()

    x = rearrange(clip, "b v t c height width -> (b v) c t height width").float()
    channel_statistics = zip(of_channels(mean), of_channels(std), strict=True)
    for channel, (channel_mean, channel_std) in zip(x.unbind(1), channel_statistics, strict=True):
        channel.sub_(255 * channel_mean).div_(255 * channel_std)
    return x.flip(1) if channels == "bgr" else x


def mix(clip: Tensor, target: Tensor, mixture: Mixture) -> tuple[Tensor, Tensor]:
    """Mix clips ``(b, 3, t, height, width)`` and labels ``(b, classes)`` with those of their neighbours in the batch.

    Mixup blends all pixels (arXiv:1710.09412); cutmix copies a box, the same in all frames (arXiv:1905.04899).
    """
    neighbour = clip.roll(mixture.apart, 0)
    labels = target.lerp(target.roll(mixture.apart, 0), mixture.share)
    if mixture.box is None:
        return clip.lerp(neighbour, mixture.share), labels

    top, left, height, width = mixture.box
    inside = (..., slice(top, top + height), slice(left, left + width))
    mixed = clip.clone()
    mixed[inside] = neighbour[inside]
    return mixed, labels


def erase(clip: Tensor, boxes: Tensor) -> Tensor:
    """Set a box of each clip ``(b, 3, t, height, width)`` to zero, the mean colour, in all its frames, in place.

    ``boxes``: ``(b, 4)``, a :class:`Box` for each clip. All clips are erased together, in a few kernels.
    """
    top, left, height, width = boxes[:, :, None].unbind(1)
    rows = torch.arange(clip.shape[-2], device=clip.device)
    columns = torch.arange(clip.shape[-1], device=clip.device)
    is_row_inside = (rows >= top) & (rows < top + height)
    is_column_inside = (columns >= left) & (columns < left + width)
    inside = is_row_inside[:, :, None] & is_column_inside[:, None]
    return clip.masked_fill_(inside[:, None, None], 0)


def draw(
    keys: Tensor, size: tuple[int, int], augmentation: Augmentation, *, seed: int, reverses: bool = False
) -> BatchDraws:
    """Draw a batch's augmentation on the CPU from the seed and the samples' ``keys (b, 2)``: pass and index.

    With ``reverses``, clips 2 i and 2 i + 1 are a film and its reverse: they have the same box, and mix with the film
    before and with its reverse.
    """
    apart = 2 if reverses else 1
    generator = torch.Generator().manual_seed(digest(seed, keys.tolist()))
    boxes = torch.tensor([_erased(size, augmentation.random_erasing, generator) for _ in keys[::apart]])
    boxes = boxes.repeat_interleave(apart, 0)
    mixture = _mixture(size, augmentation, generator)
    return BatchDraws(boxes=boxes if boxes.any() else None, mixture=mixture and mixture._replace(apart=apart))


def _erased(size: tuple[int, int], probability: float, generator: torch.Generator) -> Box:
    """Draw a box to erase with the given probability; otherwise return an empty box.

    Up to ten boxes are drawn until one fits; their aspect ratio is log-uniform.
    Source: arXiv:1708.04896, with X-ViT's numbers (arXiv:2106.05968, section 4.1).
    """
    nothing = Box(0, 0, height=0, width=0)
    if torch.rand((), generator=generator) >= probability:
        return nothing

    height, width = size
    for _ in range(10):
        of_area, of_aspect, of_top, of_left = torch.rand(4, generator=generator).tolist()
        area = height * width * (0.02 + of_area * (1 / 3 - 0.02))
        aspect = math.exp((2 * of_aspect - 1) * math.log(1 / 0.3))
        rows = round(math.sqrt(area * aspect))
        columns = round(math.sqrt(area / aspect))
        if 0 < rows < height and 0 < columns < width:
            top = int(of_top * (height - rows + 1))
            left = int(of_left * (width - columns + 1))
            return Box(top, left, height=rows, width=columns)
    return nothing


def _mixture(size: tuple[int, int], augmentation: Augmentation, generator: torch.Generator) -> Mixture | None:
    """Draw mixup or cutmix; if both are on, each with probability 0.5.

    Cutmix: a box with the image's aspect ratio, a uniform centre, and an area of 1 - Beta(alpha, alpha) of the image's.
    The box is clipped to the image; ``share`` is the clipped box's share of the area.
    Source: arXiv:1905.04899, section 3.1.
    """
    cuts = bool(augmentation.cutmix)
    if cuts and augmentation.mixup:
        cuts = bool(torch.rand((), generator=generator) >= 0.5)
    if cuts:
        cut = math.sqrt(1 - _beta(augmentation.cutmix, generator))
        centre = torch.rand(2, generator=generator).tolist()
        top, height = _interval(size[0], cut, centre[0])
        left, width = _interval(size[1], cut, centre[1])
        share = height * width / math.prod(size)
        return Mixture(share, Box(top, left, height=height, width=width))
    if augmentation.mixup:
        return Mixture(1 - _beta(augmentation.mixup, generator))
    return None


def _interval(length: int, share: float, centre: float) -> tuple[int, int]:
    """Return start and size of an interval of ``share * length`` around ``centre`` (0 to 1), clipped to ``length``."""
    size = int(length * share)
    start = int(centre * length) - size // 2
    first = max(start, 0)
    return first, min(start + size, length) - first


def _beta(alpha: float, generator: torch.Generator) -> float:
    """Draw from Beta(alpha, alpha) as a ratio of Gamma draws, which torch can draw from a generator."""
    gammas = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator=generator)
    return float(gammas[0] / gammas.sum())
