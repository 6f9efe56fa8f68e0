"""What happens to a batch on its device: to float, erased, mixed, labels made soft."""

import math
from collections.abc import Sequence
from typing import Literal, TypedDict

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor

from lit_video.video.augmentation import Augmentation
from lit_video.video.seeding import digest

# of the one task of a data set, or of each of its tasks by name; the columns of logits keep their order
Classes = int | dict[str, int]


class Batch(TypedDict):
    """A batch as models see it.

    ``clip``: float, normalised, ``(b, 3, t, side, side)``; ``target``: ``(b,)`` class numbers, or ``(b, classes)``
    probabilities in training; ``video`` and ``view``: ``(b,)``, which view of which video a clip is.
    With several tasks ``target`` is ``(b, tasks)``, in training ``(b, sum of classes)``, each task's probabilities side
    by side.
    Where a video could not be read the clip is grey, ``video`` is -1, and ``target`` is -100 (``IGNORED``), in training
    no probabilities at all: losses and metrics ignore it.
    """

    clip: Tensor
    target: Tensor
    video: Tensor
    view: Tensor


class RawBatch(TypedDict):
    """A batch as the loader collates it: :class:`~lit_video.video.clips.Sample` with a leading axis."""

    clip: Tensor
    label: Tensor
    video: Tensor
    first_view: Tensor
    key: Tensor
    broken: list[str]


Channels = Literal["rgb", "bgr"]
IGNORED = -100  # F.cross_entropy's own


def evaluation_batch(raw: RawBatch, mean: float, std: float, channels: Channels = "rgb") -> Batch:
    """Every view becomes a clip of its own."""
    views = raw["clip"].shape[1]
    view = raw["first_view"][:, None] + torch.arange(views, device=raw["clip"].device)
    broken = [i for i, reason in enumerate(raw["broken"]) if reason]
    clip, label, video = normalise(raw["clip"], mean, std, channels), raw["label"].clone(), raw["video"].clone()
    label[broken], video[broken] = IGNORED, -1
    rearrange(clip, "(b v) ... -> b v ...", v=views)[broken] = 0
    return Batch(
        clip=clip,
        target=repeat(label, "b ... -> (b v) ...", v=views),
        video=repeat(video, "b -> (b v)", v=views),
        view=rearrange(view, "b v -> (b v)"),
    )


def training_batch(
    raw: RawBatch,
    mean: float,
    std: float,
    augmentation: Augmentation,
    classes: Classes,
    seed: int,
    channels: Channels = "rgb",
) -> Batch:
    """Erase a box per clip, smooth the labels, mix clips and labels.

    All draws are a function of the seed and of which samples the batch holds, on any device and with any
    number of workers.
    """
    generator = torch.Generator().manual_seed(digest(seed, raw["key"].tolist()))
    batch = evaluation_batch(raw, mean, std, channels)
    clip = erase(batch["clip"], augmentation.erasing, generator)
    target = soft_labels(batch["target"], classes, augmentation.smoothing)
    clip, target = mix(clip, target, augmentation, generator)
    return Batch(clip=clip, target=target, video=batch["video"], view=batch["view"])


def normalise(clip: Tensor, mean: float, std: float, channels: Channels = "rgb") -> Tensor:
    """uint8 ``(b, v, t, 3, side, side)`` -> float ``(b * v, 3, t, side, side)`` with (x / 255 - mean) / std.

    The channels are red, green, blue; with ``bgr`` they come out the other way round.
    """
    if channels == "bgr":
        clip = clip.flip(3)
    x = rearrange(clip, "b v t c height width -> (b v) c t height width")
    return x.float().sub_(255 * mean).div_(255 * std)


def outputs(classes: Classes) -> int:
    """Logits that a classifier of these classes has; the heads of several tasks are one linear layer."""
    return sum(classes.values()) if isinstance(classes, dict) else classes


def per_task(x: Tensor, classes: Classes | None) -> Sequence[Tensor]:
    """What is each task's of logits or soft labels ``(b, sum of classes)``, or of class numbers ``(b, tasks)``."""
    if not isinstance(classes, dict):
        return (x,)
    return torch.split(x, list(classes.values()), dim=1) if x.is_floating_point() else x.unbind(1)


def soft_labels(labels: Tensor, classes: Classes, smoothing: float) -> Tensor:
    """Class numbers ``(b,)`` or ``(b, tasks)`` -> ``(b, sum of classes)``, every task smoothed over its own classes."""
    counts = classes.values() if isinstance(classes, dict) else (classes,)
    shares = zip(per_task(labels, classes), counts, strict=True)
    return torch.cat([smooth(label, count, smoothing) for label, count in shares], dim=1)


def smooth(labels: Tensor, classes: int, smoothing: float) -> Tensor:
    """Class numbers ``(b,)`` -> probabilities ``(b, classes)``: 1 - smoothing for the class, the rest spread evenly.

    All zero where the label is ``IGNORED``: it adds no loss.
    """
    valid = (labels != IGNORED)[:, None]
    return (F.one_hot(labels.clamp(min=0), classes) * (1 - smoothing) + smoothing / classes) * valid


def mix(clip: Tensor, target: Tensor, augmentation: Augmentation, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Mixup or cutmix, the one that is on; one of them by an even draw if both are."""
    both = augmentation.mixup and augmentation.cutmix
    if augmentation.cutmix and not (both and torch.rand((), generator=generator) < 0.5):
        return cutmix(clip, target, augmentation.cutmix, generator)
    if augmentation.mixup:
        return mixup(clip, target, augmentation.mixup, generator)
    return clip, target


def mixup(clip: Tensor, target: Tensor, alpha: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Each clip mixed with its neighbour in the batch by one weight drawn from Beta(alpha, alpha), labels alike.

    Source: arXiv:1710.09412.
    """
    weight = _beta(alpha, generator)
    return clip.lerp(clip.roll(1, 0), 1 - weight), target.lerp(target.roll(1, 0), 1 - weight)


def cutmix(clip: Tensor, target: Tensor, alpha: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """A box of each clip, the same in all frames, is its neighbour's in the batch; labels by the share of pixels.

    The box has the image's aspect, 1 - Beta(alpha, alpha) of its area and a uniform centre; what lies outside the image
    is cut off, which the labels take into account. Shape: clip ``(b, 3, t, height, width)``, target ``(b, classes)``.
    Source: arXiv:1905.04899, section 3.1.
    """
    cut = math.sqrt(1 - _beta(alpha, generator))
    centre = torch.rand(2, generator=generator).tolist()
    height, width = clip.shape[-2:]
    (top, bottom), (left, right) = (_interval(n, cut, u) for n, u in zip((height, width), centre, strict=True))
    mixed = clip.clone()
    mixed[..., top:bottom, left:right] = clip.roll(1, 0)[..., top:bottom, left:right]
    share = (bottom - top) * (right - left) / (height * width)
    return mixed, target.lerp(target.roll(1, 0), share)


def _interval(length: int, share: float, centre: float) -> tuple[int, int]:
    """Pixels of an interval of a share of the length around a centre (0 to 1), as far as they exist."""
    size = int(length * share)
    start = int(centre * length) - size // 2
    return max(start, 0), min(start + size, length)


def _beta(alpha: float, generator: torch.Generator) -> float:
    """A draw from Beta(alpha, alpha), as a ratio of Gamma draws, which torch can draw from a generator."""
    gammas = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator=generator)
    return float(gammas[0] / gammas.sum())


def erase(clip: Tensor, probability: float, generator: torch.Generator) -> Tensor:
    """Set one box per clip to zero, the mean colour, in all its frames, with the given probability.

    Area 0.02-1/3 of the image, aspect 0.3-1/0.3 (log-uniform); a box that does not fit is drawn again, ten times.
    Source: arXiv:1708.04896, with X-ViT's numbers (arXiv:2106.05968, section 4.1).
    """
    height, width = clip.shape[-2:]
    for one in clip:
        if torch.rand((), generator=generator) >= probability:
            continue
        for _ in range(10):
            u = torch.rand(4, generator=generator).tolist()
            area = height * width * (0.02 + u[0] * (1 / 3 - 0.02))
            aspect = math.exp((2 * u[1] - 1) * math.log(1 / 0.3))
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < h < height and 0 < w < width:
                top, left = int(u[2] * (height - h + 1)), int(u[3] * (width - w + 1))
                one[..., top : top + h, left : left + w] = 0
                break
    return clip
