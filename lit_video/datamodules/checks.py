"""Refusal of contradictory settings of a data set, and of tests on videos that selected the checkpoint."""

import os
from collections.abc import Iterable
from math import prod
from typing import Any

from lit_video.datamodules.records import Records
from lit_video.errors import UserError
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.limits import MOST_PIXELS, within
from lit_video.video.settings import check_storable


def refuse_contradictions(data: Any) -> None:
    """Refuse settings that are out of range or contradict each other."""
    for size in (data.image_size, data.test_image_size):
        within("clips' pixels", data.frames * prod(height_and_width(size)), MOST_PIXELS)
    check_storable(data.sampling)
    data.sampling.check(data.frames, data.test_clips)
    augmentation = data.augmentation
    if (augmentation.crop == "whole") != (data.views == "whole"):
        given = f"augmentation.crop is {augmentation.crop}, views is {data.views}"
        raise ValueError(f"{given}: use whole for both or neither")
    data.training_view()  # refuses a short side smaller than the clip
    data.view(data.test_crops)  # refuses an unsupported number of crops
    changed = data.test_orders or data.order != "forward" or data.found_broken.on_broken != "fail"
    if data.features and (changed or augmentation.erasing or augmentation.cutmix):
        what = "order, test_orders, broken, augmentation.erasing and augmentation.cutmix"
        raise ValueError(f"features are computed from unchanged videos: leave out {what}")


def refuse_choice(data: Any, callbacks: Iterable[object]) -> None:
    """Refuse to test on videos that also select the checkpoint or stop the training."""
    for one in callbacks:
        metric = getattr(one, "monitor", None) or "train"
        if metric.startswith("train"):
            continue
        both = Records.of(data.records("test")).shared(Records.of(data.records("val")), os.path.realpath)
        if not both:
            return
        what = f"{type(one).__name__} chooses by {metric}, and {len(both)} of the validation videos are also tested"
        advice = "use other videos for the test, or leave out the callback"
        raise UserError(f"trainer.callbacks: {what} ({both[0]}); {advice}")
