"""Random draws of training for a batch: plain numbers, on the CPU, before the batch moves to its device."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from lit_video.video.augmentation import Augmentation
from lit_video.video.seeding import digest

Box = tuple[int, int, int, int]  # top, bottom, left, right in pixels, the ends left out


class Mixture(NamedTuple):
    """Parts that each clip of a batch takes from its neighbour, and labels likewise.

    ``share``: of the neighbour, 0 to 1; ``box``: that the neighbour fills, ``None`` where all pixels are blended.
    """

    share: float
    box: Box | None = None


class BatchDraws(NamedTuple):
    """Random draws for the augmentation of a batch.

    ``boxes``: ``(b, 4)``, the :data:`Box` that is erased of each clip, an empty one of zeros where none is; ``None``
    where no clip is erased. ``mixture``: ``None`` where clips are not mixed.
    """

    boxes: Tensor | None
    mixture: Mixture | None


def draw(keys: Tensor, size: tuple[int, int], augmentation: Augmentation, seed: int) -> BatchDraws:
    """Draw for a batch: a function of the seed and of which samples it holds, for any number of workers.

    On the CPU, whatever the device of the training: it would wait for its device to know the samples.

    Args:
        keys: ``(b, 2)``, epoch and index of each sample, on the CPU.
        size: (height, width) of the clips in pixels.
        augmentation: settings of the augmentation.
        seed: seed of the training.
    """
    generator = torch.Generator().manual_seed(digest(seed, keys.tolist()))
    boxes = [_erased(size, augmentation.erasing, generator) for _ in range(len(keys))]
    return BatchDraws(torch.tensor(boxes) if any(map(any, boxes)) else None, _mixture(size, augmentation, generator))


def _erased(size: tuple[int, int], probability: float, generator: torch.Generator) -> Box:
    """A box to erase with the given probability, else an empty one.

    Area 0.02-1/3 of the image, aspect 0.3-1/0.3 (log-uniform); a box that does not fit is drawn again, ten times.
    Source: arXiv:1708.04896, with X-ViT's numbers (arXiv:2106.05968, section 4.1).
    """
    height, width = size
    if torch.rand((), generator=generator) < probability:
        for _ in range(10):
            u = torch.rand(4, generator=generator).tolist()
            area = height * width * (0.02 + u[0] * (1 / 3 - 0.02))
            aspect = math.exp((2 * u[1] - 1) * math.log(1 / 0.3))
            h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < h < height and 0 < w < width:
                top, left = int(u[2] * (height - h + 1)), int(u[3] * (width - w + 1))
                return top, top + h, left, left + w
    return 0, 0, 0, 0


def _mixture(size: tuple[int, int], augmentation: Augmentation, generator: torch.Generator) -> Mixture | None:
    """Mixup or cutmix, the one that is on; one of them by an even draw if both are."""
    both = augmentation.mixup and augmentation.cutmix
    if augmentation.cutmix and not (both and torch.rand((), generator=generator) < 0.5):
        return _cutmix(size, augmentation.cutmix, generator)
    if augmentation.mixup:
        return Mixture(1 - _beta(augmentation.mixup, generator))
    return None


def _cutmix(size: tuple[int, int], alpha: float, generator: torch.Generator) -> Mixture:
    """A box of the image's aspect, 1 - Beta(alpha, alpha) of its area and a uniform centre.

    Parts outside the image are cut off, which the share takes into account.
    Source: arXiv:1905.04899, section 3.1.
    """
    cut = math.sqrt(1 - _beta(alpha, generator))
    centre = torch.rand(2, generator=generator).tolist()
    (top, bottom), (left, right) = (_interval(n, cut, u) for n, u in zip(size, centre, strict=True))
    return Mixture((bottom - top) * (right - left) / math.prod(size), (top, bottom, left, right))


def _interval(length: int, share: float, centre: float) -> tuple[int, int]:
    """Pixels of an interval of a share of the length around a centre (0 to 1), as far as they exist."""
    size = int(length * share)
    start = int(centre * length) - size // 2
    return max(start, 0), min(start + size, length)


def _beta(alpha: float, generator: torch.Generator) -> float:
    """A draw from Beta(alpha, alpha), as a ratio of Gamma draws, which torch can draw from a generator."""
    gammas = torch._standard_gamma(torch.full((2,), alpha, dtype=torch.float64), generator=generator)
    return float(gammas[0] / gammas.sum())
