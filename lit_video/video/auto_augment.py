"""AutoAugment and RandAugment of whole clips: one draw, the same operation for all frames."""

import random
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from PIL import Image
from timm.data.auto_augment import AugmentOp, auto_augment_transform
from torch import Tensor
from torchvision.transforms import InterpolationMode, v2

from lit_video.video.decoding import Frames

Policy = Literal["none", "auto", "rand", "timm-v0", "vivit-rand"]
ImageOp = Callable[[Image.Image], Image.Image]

GREY = 128
# Of ViViT's release (scenic, dataset_lib/video_ops.py): the operations that do not move pixels, and cutout.
VIVIT_OPS = ["AutoContrast", "Equalize", "Invert", "Posterize", "Solarize", "Color", "Contrast", "Brightness"]
VIVIT_OPS += ["Sharpness", "SolarizeAdd"]
VIVIT_LAYERS, VIVIT_MAGNITUDE = 2, 20  # for Something-Something v2
VIVIT_CUTOUT = 40 * VIVIT_MAGNITUDE // 10  # half the side of the box, in pixels


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
    edges = []
    for length in size:
        centre = random.randrange(length)
        edges.append((max(centre - VIVIT_CUTOUT, 0), min(centre + VIVIT_CUTOUT, length)))
    (left, right), (top, bottom) = edges
    return left, top, right, bottom
