"""Augmentation of one clip in a loader's worker: uint8 in, uint8 out, the same for all frames."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from PIL import Image
from timm.data.auto_augment import AugmentOp, auto_augment_transform
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from lit_video.utils.clip_shape import ImageSize, height_and_width
from lit_video.video.crops import (
    CROP_SHARE,
    Box,
    even_boxes,
    multiscale_boxes,
    random_box,
    short_side_size,
    uniform_crop,
)
from lit_video.video.decoding import Frames

Policy = Literal["none", "auto", "rand", "timm-v0", "vivit-rand"]
ImageOp = Callable[[Image.Image], Image.Image]

GREY = 128
# Of ViViT's release (scenic, dataset_lib/video_ops.py): the operations that do not move pixels, and cutout.
VIVIT_OPS = ["AutoContrast", "Equalize", "Invert", "Posterize", "Solarize", "Color", "Contrast", "Brightness"]
VIVIT_OPS += ["Sharpness", "SolarizeAdd"]
VIVIT_LAYERS, VIVIT_MAGNITUDE = 2, 20  # for Something-Something v2
VIVIT_CUTOUT = 40 * VIVIT_MAGNITUDE // 10  # half the side of the box, in pixels of a clip of 224


def timm_v0() -> ImageOp:
    """Timm's AutoAugment ``v0`` with translations of up to 100 pixels, as X-ViT's release has it."""
    auto = auto_augment_transform("v0", {"translate_const": 100, "img_mean": (GREY,) * 3})
    for op in (op for pair in auto.policy for op in pair if op.name == "Posterize"):
        op.aug_fn = posterize
    augment: ImageOp = auto
    return augment


def posterize(image: Image.Image, bits: int, **_: object) -> Image.Image:
    """Keep the upper bits of every colour. The policy may keep none (black), which newer versions of Pillow refuse."""
    return image.point([value >> (8 - bits) << (8 - bits) for value in range(256)] * 3)


def vivit_rand() -> ImageOp:
    """ViViT's RandAugment for Something-Something v2: two of ten operations, cutout and nothing, all equally likely.

    The operations are timm's, which come from the same TPU code. One is weaker: timm adds at most 128 in SolarizeAdd,
    where the release adds 220.
    """
    hparams = {"magnitude_max": VIVIT_MAGNITUDE, "img_mean": (GREY,) * 3}
    ops = [AugmentOp(name, 1.0, VIVIT_MAGNITUDE, hparams) for name in VIVIT_OPS]  # type: ignore[no-untyped-call]
    choices: list[ImageOp] = [*ops, cutout, lambda image: image]

    def layers(image: Image.Image) -> Image.Image:
        for op in random.choices(choices, k=VIVIT_LAYERS):
            image = op(image)
        return image

    return layers


def for_clip(op: ImageOp, frames: Frames) -> Frames:
    """An operation on every frame with the same draws from ``random``: ``(t, height, width, 3)`` -> same."""
    state = random.getstate()
    changed = []
    for frame in frames:
        random.setstate(state)
        changed.append(np.asarray(op(Image.fromarray(np.ascontiguousarray(frame)))))
    return np.stack(changed)


def clip_policy(policy: Policy) -> Callable[[Tensor], Tensor]:
    """A policy on a cropped clip, uint8 ``(t, 3, height, width)`` -> same; ``timm-v0`` comes before a crop."""
    if policy == "auto":
        return v2.AutoAugment(interpolation=InterpolationMode.BILINEAR, fill=GREY)
    if policy == "rand":
        return v2.RandAugment(interpolation=InterpolationMode.BILINEAR, fill=GREY)
    if policy == "vivit-rand":
        op = vivit_rand()
        return lambda clip: torch.from_numpy(for_clip(op, clip.permute(0, 2, 3, 1).numpy())).permute(0, 3, 1, 2)
    return v2.Identity()


def cutout(image: Image.Image) -> Image.Image:
    """A black square around a random pixel, cut off at the edges (arXiv:1708.04552)."""
    image = image.copy()
    image.paste((0, 0, 0), cutout_box(image.size))
    return image


def cutout_box(size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Draw the square in a picture of this width and height: left, top, right, bottom."""
    edges, half = [], round(VIVIT_CUTOUT * min(size) / 224)
    for length in size:
        centre = random.randrange(length)
        edges.append((max(centre - half, 0), min(centre + half, length)))
    (left, right), (top, bottom) = edges
    return left, top, right, bottom


@dataclass(frozen=True)
class Augmentation:
    """Training augmentation; the defaults are X-ViT's for SSv2 (arXiv:2106.05968, section 4.1).

    :mod:`~lit_video.video.recipes` holds the papers' by name.

    Args:
        scale: range of the random scaling before the crop, relative to a short side of 256 for a crop of 224.
        flip: probability of a horizontal flip; 0 where classes differ by direction.
        policy: ``auto`` (AutoAugment, torchvision's ImageNet policy), ``rand`` (RandAugment 2, 9), ``timm-v0`` (of
            X-ViT's release, on whole frames before the crop), ``vivit-rand`` (ViViT's RandAugment 2, 20) or ``none``.
            One draw for all frames of a clip.
        erasing: probability of erasing a box, the same in all frames; area 0.02-1/3, aspect 0.3-1/0.3.
        mixup: alpha of the Beta distribution of a batch's mixing weight; 0 for no mixup.
        smoothing: label smoothing.
        crop: ``scale``, a random box of the clip's shape, a square in most cases, of a size given by ``scale``;
            ``multiscale``, one of the boxes of X-ViT's release (:func:`~lit_video.video.crops.multiscale_boxes`), which
            need no ``scale``; ``whole``, the frame or nearly all of it, as ``scale`` says, squeezed into that shape.
        cutmix: alpha of the Beta distribution of the kept share; 0 for no cutmix. With mixup too, each batch has one of
            them, evenly.
    """

    scale: tuple[float, float] = (0.9, 1.3)
    flip: float = 0.0
    policy: Policy = "auto"
    erasing: float = 0.5
    mixup: float = 0.0
    smoothing: float = 0.3
    crop: Literal["scale", "multiscale", "whole"] = "scale"
    cutmix: float = 0.0

    def __post_init__(self) -> None:
        if not CROP_SHARE <= self.scale[0] <= self.scale[1]:
            raise ValueError(f"scale is {list(self.scale)}, expected two ascending numbers from {CROP_SHARE}")
        for name in ("flip", "erasing", "smoothing"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected a number from 0 to 1")
        for name in ("mixup", "cutmix"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 or more")


class TrainingView:
    """Crop and scaling in one resize, flip, policy: ``(t, height, width, 3)`` -> ``(1, t, 3, height, width)``."""

    crops = 1

    def __init__(self, augmentation: Augmentation, size: ImageSize) -> None:
        self.augmentation = augmentation
        self.size = height_and_width(size)
        self.before = timm_v0() if augmentation.policy == "timm-v0" else None
        self.policy = clip_policy(augmentation.policy)

    def __call__(self, frames: Frames) -> Tensor:
        """Draw from ``random`` and ``torch``'s global streams."""
        if self.before is not None:
            frames = for_clip(self.before, frames)
        clip = resized_crop(frames, self.box(*frames.shape[1:3]), self.size)
        if random.random() < self.augmentation.flip:
            clip = F.horizontal_flip(clip)
        return self.policy(clip)[None].contiguous()

    def box(self, height: int, width: int) -> Box:
        """Draw the crop of frames of this size."""
        if self.augmentation.crop == "multiscale":
            return random.choice(multiscale_boxes(height, width, self.size))
        shape = (height, width) if self.augmentation.crop == "whole" else self.size
        return random_box(height, width, self.augmentation.scale, shape)


class EvaluationViews:
    """``crops`` crops of the clip's shape, as large as the frame lets them be, evenly along the side that has room.

    Shape: ``(t, height, width, 3)`` -> ``(crops, t, 3, height, width)``.

    One crop is the centre; three are the papers' left, centre and right (or top, centre and bottom).
    """

    def __init__(self, crops: int, size: ImageSize) -> None:
        self.crops = crops
        self.size = height_and_width(size)

    def boxes(self, height: int, width: int) -> list[Box]:
        """Boxes of the crops in frames of this size."""
        return even_boxes(height, width, self.crops, self.size)

    def __call__(self, frames: Frames) -> Tensor:
        """Crop deterministically."""
        return torch.stack([resized_crop(frames, box, self.size) for box in self.boxes(*frames.shape[1:3])])


class WholeViews(EvaluationViews):
    """The whole frame, squeezed into the clip's shape: where what matters reaches from side to side, as a mouth does.

    Raises:
        ValueError: other numbers of crops than 1.
    """

    def __init__(self, crops: int, size: ImageSize) -> None:
        if crops != 1:
            raise ValueError(f"test_crops is {crops}, whole views are 1")
        super().__init__(crops, size)

    def boxes(self, height: int, width: int) -> list[Box]:
        """All of them."""
        return [Box(0, 0, height, width)]


class ReleasedViews(EvaluationViews):
    """The crops of X-ViT's release: the short side is resized to ``side`` first, then whole pixels are cropped.

    The places are the release's; the resize is antialiased, as everywhere here (the release's, on SSv2, is not).

    Raises:
        ValueError: other numbers of crops than 1 and 3, or a clip that is no square.
    """

    def __init__(self, crops: int, size: ImageSize) -> None:
        if crops not in (1, 3):
            raise ValueError(f"test_crops is {crops}, the release's views are 1 or 3")
        super().__init__(crops, size)
        self.side = self.size[0]
        if self.size != (self.side, self.side):
            raise ValueError(f"views is released, whose crops are squares; image_size is {list(self.size)}: use even")

    def boxes(self, height: int, width: int) -> list[Box]:
        """As :class:`EvaluationViews`, to the nearest pixel: the release crops after resizing."""
        share = min(height, width) / self.side
        places = self._places(*short_side_size(height, width, self.side))
        return [Box(round(y * share), round(x * share), *[min(height, width)] * 2) for y, x in places]

    def __call__(self, frames: Frames) -> Tensor:
        """Resize, then crop."""
        height, width = short_side_size(frames.shape[1], frames.shape[2], self.side)
        clip = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2)
        clip = F.resize(clip, [height, width], antialias=True)
        return torch.stack([clip[..., y : y + self.side, x : x + self.side] for y, x in self._places(height, width)])

    def _places(self, height: int, width: int) -> list[tuple[int, int]]:
        return [uniform_crop(height, width, self.side, i) for i in ((1,) if self.crops == 1 else (0, 1, 2))]


VIEWS = {"even": EvaluationViews, "released": ReleasedViews, "whole": WholeViews}


def resized_crop(frames: Frames, box: Box, size: tuple[int, int]) -> Tensor:
    """Crop in source pixels, then one antialiased uint8 resize: ``(t, 3, *size)``.

    The tensor keeps the decoder's channels-last memory, for which the uint8 resize is fastest.
    """
    part = frames[:, box.top : box.top + box.height, box.left : box.left + box.width]
    window = torch.from_numpy(np.ascontiguousarray(part))
    return F.resize(window.permute(0, 3, 1, 2), list(size), antialias=True)
