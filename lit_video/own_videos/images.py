"""Start of trainings; in a comparison all schemes start from one image model, as in the papers."""

import logging
from dataclasses import asdict, replace
from typing import Any

import torch

from lit_video.errors import UserError
from lit_video.own_videos.budget import built
from lit_video.own_videos.choices import FRAMES
from lit_video.own_videos.schemes import TableRows
from lit_video.own_videos.starts import DEFAULT_WEIGHTS, SCRATCH, SCRATCH_XVIT, Start, at_hand, start_from
from lit_video.weights.hub import DRAWN_WEIGHTS, IMAGES, fetch, find
from lit_video.weights.image_vit import load_image_vit, on_meta, read_image_vit, structure

_logger = logging.getLogger(__name__)

# cheapest first; the second is for ViViT-4, which needs an even number of heads, while the first has three
DEFAULTS = f"{IMAGES}vit_tiny_patch16_224.augreg_in21k", f"{IMAGES}vit_small_patch16_224.augreg_in21k"
PATCHES = (4, 6, 8, 10, 14)  # numbers of patches along a frame's side
OTHERWISE_DRAWN = "Training starts from a small model that comes along, pretrained on drawn videos (--weights drawn)"
OTHERWISE_SCRATCH = "Training starts from scratch, which is usually less accurate with few videos"


def choose_start(weights: str, schemes: TableRows, *, compared: bool) -> Start:
    """Return the start of trainings; ``auto`` means the default weights, or those that come along.

    Args:
        weights: ``auto``, ``none``, or a name of weights.
        schemes: rows of the schemes to train; empty for the model of the weights.
        compared: start all schemes from one image model.

    Raises:
        UserError: the weights do not suit the schemes, or decide the scheme.
    """
    if compared:
        return SCRATCH if weights == "none" else image_start(weights, schemes)
    if weights == "none" or (weights == "auto" and schemes):
        return SCRATCH if schemes else SCRATCH_XVIT
    if weights == "auto":
        return start_from(DEFAULT_WEIGHTS if at_hand(DEFAULT_WEIGHTS, OTHERWISE_DRAWN) else DRAWN_WEIGHTS)

    start = start_from(weights)
    if schemes:
        raise UserError(f"--weights {weights}: weights of {start.model} decide the scheme; leave --scheme out")
    return start


def image_start(weights: str, rows: TableRows) -> Start:
    """Download and return the start: ``timm:NAME``, or for ``auto`` the first default that suits all rows."""
    if weights != "auto":
        try:
            start = _start(weights, rows)
        except ValueError as error:
            expected = "expected auto, none, or timm:NAME of a plain ViT (docs/image_weights.md)"
            raise UserError(f"--weights {weights}: {error}; {expected}") from error
        fetch(find(weights))
        return replace(start, is_named=True)

    for image in DEFAULTS[torch.cuda.is_available() :]:
        try:
            start = _start(image, rows)
        except ValueError as error:
            reason = f"{image}: {error}"
            continue
        return start if at_hand(image, OTHERWISE_SCRATCH) else SCRATCH

    _logger.info(f"{reason}. All schemes start from scratch, so that the comparison is fair.")
    return SCRATCH


def _start(image: str, rows: TableRows) -> Start:
    if not image.startswith(IMAGES):
        raise ValueError("is no image model of timm")
    vit = on_meta(image.removeprefix(IMAGES))
    size, patch = structure(vit), vit.patch_embed.patch_size[0]
    sides = tuple(patch * count for count in PATCHES if patch * count <= vit.patch_embed.img_size[0])
    pixels = {"mean": [*vit.pretrained_cfg["mean"]], "std": [*vit.pretrained_cfg["std"]]}
    start = Start(image, "XViT", {"size": asdict(size), "patch_size": patch}, pixels, sides=sides)

    clip = {"num_frames": FRAMES, "image_size": sides[0]}
    for row in rows.values():
        try:
            with torch.device("meta"):
                net: Any = built(start.model, start.settings, clip, classes=2, row=row)
                load_image_vit(net, read_image_vit(image, net).tensors)
        except ValueError as error:
            raise ValueError(f"{row['label']} cannot start from it ({error})") from error
    return start
