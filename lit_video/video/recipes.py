"""The papers' training augmentation by name: ``augmentation: xvit-paper-ssv2``.

Short sides are for clips of 224 pixels; for clips of another size, write the settings as a mapping with a
``short_side``.

X-ViT (arXiv:2106.05968): section 4.1 and the released code disagree. The paper's "autoaugment" names no policy, so
``xvit-paper`` recipes use ImageNet's. The release draws the interpolation for every frame, this code once per clip.

TimeSformer (arXiv:2102.05095): the released configurations flip on Kinetics only; for Kinetics write the recipe as a
mapping, with ``flip: 0.5``.

ViViT (arXiv:2103.15691): as in Table 7. The release's loader, DMVR, scales height and width independently.
"""

from typing import Literal

from lit_video.utils.clip_shape import ImageSize, height_and_width
from lit_video.video.augmentation import Augmentation

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
