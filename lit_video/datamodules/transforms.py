"""What happens to the frames of one clip in a loader's worker: uint8 in, uint8 out, the same for all frames."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules.decoding import Frames

# side of the training crop over the short side before jitter, 224 / 256 in the papers
CROP_SHARE = 224 / 256


@dataclass(frozen=True)
class Augmentation:
    """Training augmentation; the defaults are X-ViT's for SSv2 (arXiv:2106.05968, section 4.1).

    Args:
        scale: range of the random scaling before the crop, relative to a short side of 256 for a crop of 224.
        flip: probability of a horizontal flip; 0 where classes differ by direction.
        policy: ``auto`` (AutoAugment, ImageNet policy), ``rand`` (RandAugment 2, 9) or ``none``.
        erasing: probability of erasing a box, the same in all frames; area 0.02-1/3, aspect 0.3-1/0.3.
        mixup: alpha of the Beta distribution of a batch's mixing weight; 0 for no mixup.
        smoothing: label smoothing.
    """

    scale: tuple[float, float] = (0.9, 1.3)
    flip: float = 0.0
    policy: Literal["none", "auto", "rand"] = "auto"
    erasing: float = 0.5
    mixup: float = 0.0
    smoothing: float = 0.3

    def __post_init__(self) -> None:
        if not CROP_SHARE <= self.scale[0] <= self.scale[1]:
            raise ValueError(f"scale is {list(self.scale)}, expected two ascending numbers from {CROP_SHARE}")
        for name in ("flip", "erasing", "smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected a number from 0 to 1")
        if self.mixup < 0:
            raise ValueError(f"mixup is {self.mixup}, expected 0 or more")


class TrainingView:
    """Random scale and crop in one resize, flip, policy: ``(t, height, width, 3)`` -> ``(1, t, 3, side, side)``."""

    crops = 1

    def __init__(self, augmentation: Augmentation, side: int) -> None:
        self.augmentation = augmentation
        self.side = side
        fill = 128
        policies: dict[str, v2.Transform] = {
            "none": v2.Identity(),
            "auto": v2.AutoAugment(interpolation=InterpolationMode.BILINEAR, fill=fill),
            "rand": v2.RandAugment(interpolation=InterpolationMode.BILINEAR, fill=fill),
        }
        self.policy = policies[augmentation.policy]

    def __call__(self, frames: Frames) -> Tensor:
        """Draw from ``random`` and ``torch``'s global streams."""
        height, width = frames.shape[1:3]
        crop = round(min(height, width) * CROP_SHARE / random.uniform(*self.augmentation.scale))
        top, left = random.randint(0, height - crop), random.randint(0, width - crop)
        clip = resized_crop(frames, top, left, crop, self.side)
        if random.random() < self.augmentation.flip:
            clip = F.horizontal_flip(clip)
        return self.policy(clip)[None].contiguous()


class EvaluationViews:
    """``crops`` square crops evenly along the longer side: ``(t, height, width, 3)`` -> ``(crops, t, 3, side, side)``.

    One crop is the centre; three are the papers' left, centre and right (or top, centre and bottom).
    """

    def __init__(self, crops: int, side: int) -> None:
        self.crops = crops
        self.side = side

    def __call__(self, frames: Frames) -> Tensor:
        """Crop deterministically."""
        height, width = frames.shape[1:3]
        crop = min(height, width)
        shares = np.linspace(0, 1, self.crops) if self.crops > 1 else [0.5]
        places = [(round((height - crop) * share), round((width - crop) * share)) for share in shares]
        return torch.stack([resized_crop(frames, top, left, crop, self.side) for top, left in places])


def resized_crop(frames: Frames, top: int, left: int, crop: int, side: int) -> Tensor:
    """Square crop in source pixels, then one antialiased uint8 resize: ``(t, 3, side, side)``.

    The tensor keeps the decoder's channels-last memory, for which the uint8 resize is fastest.
    """
    window = torch.from_numpy(np.ascontiguousarray(frames[:, top : top + crop, left : left + crop]))
    return F.resize(window.permute(0, 3, 1, 2), [side, side], antialias=True)
