"""Augmentation of one clip in a loader's worker: uint8 in, uint8 out, the same for all frames; the papers' by name.

Short sides of the papers' recipes (``augmentation: xvit-paper-ssv2``) are for clips of 224 pixels; for clips of another
size, write the settings as a mapping with a ``short_side``.

X-ViT (arXiv:2106.05968): section 4.1 and the released code disagree. The paper's "autoaugment" names no policy, so
``xvit-paper`` recipes use ImageNet's. The release draws the interpolation for every frame, this code once per clip.

TimeSformer (arXiv:2102.05095): the released configurations flip on Kinetics only; for Kinetics write the recipe as a
mapping, with ``flip: 0.5``.

ViViT (arXiv:2103.15691): as in Table 7. The release's loader, DMVR, scales height and width independently.
"""

from __future__ import annotations  # a signature then shows names of types, such as Count

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image
from timm.data.auto_augment import AugmentOp, auto_augment_transform
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from lit_video.utils.arguments import NotNegative, Share, check_fields
from lit_video.utils.clip_shape import ImageSize, height_and_width
from lit_video.video.crops import (
    Box,
    even_boxes,
    multiscale_boxes,
    random_box,
    share_of_largest,
    short_side_size,
    uniform_crop,
)
from lit_video.video.decoding import Frames

Policy = Literal["none", "auto", "rand", "timm-v0", "vivit-rand-15", "vivit-rand-20"]
ImageOp = Callable[[Image.Image], Image.Image]
ClipOp = Callable[[Frames], Frames]

GREY = 128
# operations in ViViT's release (scenic, dataset_lib/video_ops.py); none of them moves pixels
VIVIT_OPS = ["AutoContrast", "Equalize", "Invert", "Posterize", "Solarize", "Color", "Contrast", "Brightness"]
VIVIT_OPS += ["Sharpness", "SolarizeAdd"]
VIVIT_LAYERS = 2
VIVIT_MAGNITUDES = {"vivit-rand-15": 15, "vivit-rand-20": 20}  # Table 7: 15 for Epic-Kitchens, 20 for SSv2
XVIT_SHORT_SIDE = (0.9 * 256 / 224, 1.3 * 256 / 224)  # X-ViT, section 4.1
# default range of the frames' short side after scaling, in multiples of the clip's short side, for each kind of crop
SHORT_SIDES = {"scale": XVIT_SHORT_SIDE, "stretch": XVIT_SHORT_SIDE, "most": (1, 8 / 7), "whole": (1, 1.2 * 8 / 7)}
SHORT_SIDES["multiscale"] = (1, 1)


def timm_v0() -> ImageOp:
    """Build timm's AutoAugment ``v0`` with translations of up to 100 pixels, as in X-ViT's release."""
    augment: Any = auto_augment_transform("v0", {"translate_const": 100, "img_mean": (GREY,) * 3})
    for pair in augment.policy:
        for op in pair:
            if op.name == "Posterize":
                op.aug_fn = posterize
    return augment


def posterize(image: Image.Image, bits: int, **_: object) -> Image.Image:
    """Keep the upper ``bits`` of every colour; 0 gives black, which newer versions of Pillow refuse."""
    return image.point([value >> (8 - bits) << (8 - bits) for value in range(256)] * 3)


def vivit_rand(magnitude: int) -> ClipOp:
    """Return ViViT's RandAugment: two draws from twelve equally likely choices, ten operations, cutout and identity.

    An operation gets all frames stacked in one picture, so that AutoContrast, for example, uses the whole clip's
    statistics. The operations are timm's, which have the same origin as the release's; one differs: SolarizeAdd adds up
    to 128 here, up to 220 in the release.
    """
    hparams = {"magnitude_max": magnitude, "img_mean": (GREY,) * 3}
    ops: list[ClipOp] = [
        partial(_as_one_picture, AugmentOp(name, 1.0, magnitude, hparams))  # type: ignore[no-untyped-call]
        for name in VIVIT_OPS
    ]
    choices: list[ClipOp] = [*ops, partial(cutout, half=40 * magnitude // 10 / 224), lambda frames: frames]

    def layers(frames: Frames) -> Frames:
        for op in random.choices(choices, k=VIVIT_LAYERS):
            frames = op(frames)
        return frames

    return layers


def _as_one_picture(op: ImageOp, frames: Frames) -> Frames:
    """Apply an operation once to all frames, ``(t, height, width, 3)``, stacked vertically in one picture."""
    _, _, width, channels = frames.shape
    stacked = np.ascontiguousarray(frames).reshape(-1, width, channels)
    picture = Image.fromarray(stacked)
    return np.asarray(op(picture)).reshape(frames.shape)


def for_clip(op: ImageOp, frames: Frames) -> Frames:
    """Apply an operation to every frame of a clip ``(t, height, width, 3)``, with the same draws from ``random``."""
    state = random.getstate()
    changed = []
    for frame in frames:
        random.setstate(state)
        changed.append(np.asarray(op(Image.fromarray(np.ascontiguousarray(frame)))))
    return np.stack(changed)


def clip_policy(policy: Policy) -> Callable[[Tensor], Tensor]:
    """Return a policy for cropped clips, uint8 ``(t, 3, height, width)``; the identity for ``timm-v0`` and ``none``."""
    if policy == "auto":
        return v2.AutoAugment(interpolation=InterpolationMode.BILINEAR, fill=GREY)
    if policy == "rand":
        return v2.RandAugment(interpolation=InterpolationMode.BILINEAR, fill=GREY)
    if policy in VIVIT_MAGNITUDES:
        return partial(_channels_last, vivit_rand(VIVIT_MAGNITUDES[policy]))
    return v2.Identity()


def _channels_last(op: ClipOp, clip: Tensor) -> Tensor:
    """Apply an operation on arrays ``(t, height, width, 3)`` to a clip ``(t, 3, height, width)``."""
    frames = clip.permute(0, 2, 3, 1).numpy()
    return torch.from_numpy(op(frames)).permute(0, 3, 1, 2)


def cutout(frames: Frames, half: float) -> Frames:
    """Blacken a square around a random pixel, the same in all frames and clipped at the edges (arXiv:1708.04552)."""
    height, width = frames.shape[1:3]
    reach = round(half * min(height, width))  # half of the square's side
    column = random.randrange(width)
    row = random.randrange(height)

    rows = slice(max(row - reach, 0), row + reach)
    columns = slice(max(column - reach, 0), column + reach)
    frames = frames.copy()
    frames[:, rows, columns] = 0
    return frames


def change_colours(clip: Tensor) -> Tensor:
    """Change the colours of uint8 ``(t, 3, height, width)`` alike in all frames, like DMVR's ``color_default_augm``."""
    pixels = clip / 255 + random.uniform(-32, 32) / 255
    pixels = F.adjust_saturation(pixels.clamp(0, 1), random.uniform(0.6, 1.4))
    mean = pixels.mean((-2, -1), keepdim=True)
    pixels = (mean + random.uniform(0.6, 1.4) * (pixels - mean)).clamp(0, 1)
    pixels = F.adjust_hue(pixels, random.uniform(-0.2, 0.2))
    return (255 * pixels).round().to(torch.uint8)


@dataclass(frozen=True)
class Augmentation:
    """Training augmentation; the defaults are X-ViT's for SSv2 (arXiv:2106.05968, section 4.1).

    Args:
        short_side: range of short sides in pixels, [256, 320] in most papers. Frames are scaled to a short side drawn
            from it, then cropped to the clip's size. ``None`` for multiples of the clip's size that depend on ``crop``.
        flip: probability of a horizontal flip; 0 where classes differ by direction.
        policy: ``auto`` (AutoAugment, torchvision's ImageNet policy), ``rand`` (RandAugment, 2 layers of magnitude 9),
            ``timm-v0`` (X-ViT's release; applied before the crop), ``vivit-rand-15`` and ``-20`` (ViViT's RandAugment,
            2 layers of this magnitude) or ``none``. All frames of a clip share one draw.
        random_erasing: probability of erasing a box, the same in all frames: 0.02 to 1/3 of the area, aspect 0.3 to
            1/0.3.
        mixup: alpha of the Beta distribution of a batch's mixing weight; 0 for no mixup.
        label_smoothing: share of a target's probability that is spread over all classes.
        crop: ``scale``: a random box of the clip's shape, sized by ``short_side``; ``stretch``: the same box with two
            draws, for height and width (ViViT's release); ``multiscale``: one of the boxes of X-ViT's release
            (:func:`~lit_video.video.crops.multiscale_boxes`); ``most``: a random box, 7/8 to 1 times the largest box's
            sides; ``whole``: 73 to 100 % of the frame's height and the same share of its width, squeezed to the shape.
        cutmix: alpha of the Beta distribution of the kept share; 0 for no cutmix. If mixup is on too, each batch gets
            one of the two.
        inverse: draw the reciprocal of the short side uniformly, not the side itself (PySlowFast's
            ``INV_UNIFORM_SAMPLE``).
        colour: probability of a change of colours (:func:`change_colours`).
        grey: probability of a clip without colours.
    """

    short_side: tuple[float, float] | None = None
    flip: Share = 0.0
    policy: Policy = "auto"
    random_erasing: Share = 0.5
    mixup: NotNegative = 0.0
    label_smoothing: Share = 0.3
    crop: Literal["scale", "stretch", "multiscale", "most", "whole"] = "scale"
    cutmix: NotNegative = 0.0
    inverse: bool = False
    colour: Share = 0.0
    grey: Share = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.short_side and not 0 < self.short_side[0] <= self.short_side[1]:
            raise ValueError(f"short_side is {list(self.short_side)}, expected two ascending numbers of pixels")


class TrainingView:
    """Crop and scale in one resize, flip, change colours: ``(t, height, width, 3)`` -> ``(1, t, 3, height, width)``."""

    crops = 1

    def __init__(self, augmentation: Augmentation, size: ImageSize) -> None:
        self.augmentation = augmentation
        self.size = height_and_width(size)
        self.before: ClipOp = np.asarray
        if augmentation.policy == "timm-v0":
            self.before = partial(for_clip, timm_v0())
        self.policy = clip_policy(augmentation.policy)

        side = min(self.size)
        least, most = SHORT_SIDES[augmentation.crop]
        low = side * least
        high = side * most
        if augmentation.short_side and augmentation.crop not in ("most", "multiscale"):
            low, high = augmentation.short_side
        if low < side:
            raise ValueError(f"augmentation.short_side begins at {low:g}, below the clip's {side} pixels")
        self.shares = (low / side, high / side)

        # a short side in pixels scales the frame, whatever the clip's shape; a multiple scales the largest box
        scales_frame = bool(augmentation.short_side) and augmentation.crop in ("scale", "stretch")
        is_square = side == max(self.size)
        self.scales = scales_frame and not is_square

    def __call__(self, frames: Frames) -> Tensor:
        """Augment a clip with draws from the global streams of ``random`` and ``torch``."""
        height, width = frames.shape[1:3]
        before_crop = self.before(frames)
        clip = resized_crop(before_crop, self.box(height, width), self.size)
        if random.random() < self.augmentation.flip:
            clip = F.horizontal_flip(clip)

        clip = self.policy(clip)
        if self.augmentation.colour and random.random() < self.augmentation.colour:
            clip = change_colours(clip)
        if self.augmentation.grey and random.random() < self.augmentation.grey:
            clip = F.rgb_to_grayscale(clip, num_output_channels=3)
        return clip[None].contiguous()

    def box(self, height: int, width: int) -> Box:
        """Draw the crop of frames of this size."""
        if self.augmentation.crop == "multiscale":
            return random.choice(multiscale_boxes(height, width, self.size))

        shape = (height, width) if self.augmentation.crop == "whole" else self.size
        share = self._share(height, width)
        share_of_width = share
        if self.augmentation.crop == "stretch":
            share_of_width = self._share(height, width)
        return random_box(height, width, (share, share_of_width), shape=shape)

    def _share(self, height: int, width: int) -> float:
        """Draw a side of the box, as a share of the largest box's."""
        low, high = self.shares
        inverse = self.augmentation.inverse
        share = random.uniform(1 / high, 1 / low) if inverse else 1 / random.uniform(low, high)
        if not self.scales:
            return share
        return share_of_largest(height, width, self.size, short_side=min(self.size) / share)


class EvaluationViews:
    """Crops of the clip's shape, evenly spaced along the frame's longer side; a single crop is central.

    Shape: ``(t, height, width, 3)`` -> ``(crops, t, 3, height, width)``.

    ``size``: side of a crop in pixels, or its height and width. ``short_side``: short side to which frames are scaled
    first; ``None`` for the crop's short side, so that crops are as large as possible.
    """

    def __init__(self, crops: int, size: ImageSize, short_side: int | None = None) -> None:
        self.crops = crops
        self.size = height_and_width(size)
        self.short_side = short_side or min(self.size)
        if self.short_side < min(self.size):
            raise ValueError(f"short_side is {short_side}, below the clip's {min(self.size)} pixels")

    def boxes(self, height: int, width: int) -> list[Box]:
        """Return boxes of the crops in frames of this size."""
        share = share_of_largest(height, width, self.size, short_side=self.short_side)
        return even_boxes(height, width, self.crops, shape=self.size, share=share)

    def __call__(self, frames: Frames) -> Tensor:
        """Crop deterministically."""
        height, width = frames.shape[1:3]
        crops = [resized_crop(frames, box, self.size) for box in self.boxes(height, width)]
        return torch.stack(crops)


class WholeViews(EvaluationViews):
    """The whole frame in the clip's shape, for videos whose subject, such as a mouth, fills the width."""

    def __init__(self, crops: int, size: ImageSize, short_side: int | None = None) -> None:
        if crops != 1 or short_side:
            raise ValueError(f"test_crops is {crops}, short_side is {short_side}; whole needs 1 crop, no short_side")
        super().__init__(crops, size)

    def boxes(self, height: int, width: int) -> list[Box]:
        """Return the frame itself."""
        return [Box(top=0, left=0, height=height, width=width)]


class ReleasedViews(EvaluationViews):
    """Crops as in PySlowFast, X-ViT's release and ViViT's: resize (antialiased here), then cut at whole pixels."""

    def __init__(self, crops: int, size: ImageSize, short_side: int | None = None) -> None:
        if crops not in (1, 3):
            raise ValueError(f"test_crops is {crops}, the release's views are 1 or 3")
        super().__init__(crops, size, short_side)
        self.thirds = {1: (1,), 3: (0, 1, 2)}[crops]  # left or top, middle, right or bottom
        self.side = self.size[0]
        if self.size != (self.side, self.side):
            raise ValueError(f"views is released, which cuts squares, but image_size is {list(self.size)}: use even")

    def boxes(self, height: int, width: int) -> list[Box]:
        """Return the crops in pixels of the original frame, rounded; the release crops after resizing."""
        share = min(height, width) / self.short_side
        side = round(self.side * share)
        resized_height, resized_width = short_side_size(height, width, self.short_side)

        boxes: list[Box] = []
        for top, left in self._corners(resized_height, resized_width):
            boxes.append(Box(round(top * share), round(left * share), height=side, width=side))
        return boxes

    def __call__(self, frames: Frames) -> Tensor:
        """Resize, then crop."""
        height, width = short_side_size(frames.shape[1], frames.shape[2], self.short_side)
        clip = torch.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2)
        clip = F.resize(clip, [height, width], antialias=True)

        crops: list[Tensor] = []
        for top, left in self._corners(height, width):
            crops.append(clip[..., top : top + self.side, left : left + self.side])
        return torch.stack(crops)

    def _corners(self, height: int, width: int) -> list[tuple[int, int]]:
        """Return top and left of each crop in resized frames."""
        return [uniform_crop(height, width, self.side, spatial=third) for third in self.thirds]


VIEWS = {"even": EvaluationViews, "released": ReleasedViews, "whole": WholeViews}


def resized_crop(frames: Frames, box: Box, size: tuple[int, int]) -> Tensor:
    """Crop in source pixels, then resize once, antialiased, in uint8: ``(t, 3, *size)``.

    The tensor keeps the decoder's channels-last memory, for which the uint8 resize is fastest.
    """
    part = frames[:, box.top : box.top + box.height, box.left : box.left + box.width]
    window = torch.from_numpy(np.ascontiguousarray(part))
    return F.resize(window.permute(0, 3, 1, 2), list(size), antialias=True)


Recipe = Literal[
    "xvit-paper-ssv2",
    "xvit-paper-k400",
    "xvit-released-ssv2",
    "xvit-released-k400",
    "timesformer",
    "vivit-ssv2",
    "vivit-k400",
    "none",
]

SIZE = 224  # side of the clips for which the recipes are made
_SHORT = (256, 320)
_XVIT = (0.9 * 256, 1.3 * 256)
_VIVIT = (0.9 * 256, 1.33 * 256)

RECIPES: dict[Recipe, Augmentation] = {
    # X-ViT, section 4.1: scale 0.9-1.3, no flip on SSv2, erasing 0.5, smoothing 0.3
    "xvit-paper-ssv2": Augmentation(_XVIT, flip=0.0, policy="auto", random_erasing=0.5, mixup=0.0, label_smoothing=0.3),
    # X-ViT, section 4.1: flip 0.5, mixup 0.4; the paper gives erasing and smoothing for SSv2 and Epic-100 only
    "xvit-paper-k400": Augmentation(_XVIT, flip=0.5, policy="auto", random_erasing=0.0, mixup=0.4, label_smoothing=0.0),
    # X-ViT's release, SSv2/xvit_B16_16x16.yaml and its loader
    "xvit-released-ssv2": Augmentation(
        _SHORT, flip=0.0, policy="timm-v0", random_erasing=0.5, mixup=0.0, label_smoothing=0.0
    ),
    # X-ViT's release, Kinetics/xvit_B16_16x16_k400.yaml (the file for K600 is the same)
    "xvit-released-k400": Augmentation(
        crop="multiscale", flip=0.5, policy="timm-v0", random_erasing=0.0, mixup=0.4, label_smoothing=0.3
    ),
    # TimeSformer's release: TRAIN_JITTER_SCALES [256, 320], TRAIN_CROP_SIZE 224, cross_entropy
    "timesformer": Augmentation(_SHORT, flip=0.0, policy="none", random_erasing=0.0, mixup=0.0, label_smoothing=0.0),
    # ViViT, Table 7: scale 0.9-1.33, flip 0.5, RandAugment 2 x 20, mixup 0.3, smoothing 0.3
    "vivit-ssv2": Augmentation(
        _VIVIT, flip=0.5, policy="vivit-rand-20", random_erasing=0.0, mixup=0.3, label_smoothing=0.3, crop="stretch"
    ),
    # ViViT, Table 7: scale 0.9-1.33, flip 0.5, colour jitter 0.8; greyscale with probability 0.1 is from the release
    "vivit-k400": Augmentation(
        _VIVIT, flip=0.5, policy="none", random_erasing=0.0, label_smoothing=0.0, crop="stretch", colour=0.8, grey=0.1
    ),
    "none": Augmentation(policy="none", random_erasing=0.0, label_smoothing=0.0),
}


def recipe(augmentation: Recipe | Augmentation | None, size: ImageSize = SIZE) -> Augmentation:
    """Return an augmentation by its name (default ``none``) for clips of ``size``; return settings unchanged."""
    if isinstance(augmentation, Augmentation):
        return augmentation
    name = augmentation or "none"
    if name not in RECIPES:
        raise ValueError(f"augmentation is {name}, expected one of {', '.join(RECIPES)}")
    if RECIPES[name].short_side and min(height_and_width(size)) != SIZE:
        then = "write its settings as a mapping, with a short_side for this size"
        raise ValueError(f"augmentation {name} is for clips of {SIZE} pixels, image_size is {size}: {then}")
    return RECIPES[name]
