"""Refusal of contradictory settings of a data set, and of tests on videos that selected the checkpoint."""

import os
from collections import defaultdict
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.limits import MOST_PIXELS, within
from lit_video.utils.text import plural
from lit_video.video.content import copies
from lit_video.video.decoding import DecodeError, frame_table
from lit_video.video.settings import check_storable


def refuse_contradictions(data: Any) -> None:
    """Refuse settings that are out of range or contradict each other."""
    for size in (data.image_size, data.test_image_size):
        within("clips' pixels", data.num_frames * prod(height_and_width(size)), MOST_PIXELS)
    check_storable(data.sampling)
    data.sampling.check(data.num_frames, data.test_clips)
    augmentation = data.augmentation
    if (augmentation.crop == "whole") != (data.views == "whole"):
        given = f"augmentation.crop is {augmentation.crop}, views is {data.views}"
        raise ValueError(f"{given}: use whole for both or neither")
    data.training_view()  # refuses a short side smaller than the clip
    data.view(data.test_crops)  # refuses an unsupported number of crops
    changed = data.test_orders or data.order != "forward" or data.found_broken.on_broken != "fail"
    if data.features and (changed or augmentation.random_erasing or augmentation.cutmix):
        what = "order, test_orders, broken, augmentation.random_erasing and augmentation.cutmix"
        raise ValueError(f"features are computed from unchanged videos: leave out {what}")


class Copies(NamedTuple):
    """Videos of equal content that contradict each other."""

    text: str
    decides: bool  # whether a result would be of videos that were learned


def contradicting_copies(data: Any) -> list[Copies]:
    """Describe videos of equal content in training and another split, or in two classes."""
    splits: dict[str, Records] = {}
    for split in data.present:
        records = Records.of(data.records(split))
        if not any(records is other for other in splits.values()):  # without a test the validation is tested
            splits[split] = records
    first = copies(path for records in splits.values() for path in records.paths)
    first = {path: other for path, other in first.items() if _is_video(other)}
    found = list[Copies]()
    if not first:
        return found
    train = splits["train"]
    for split, records in splits.items():
        both = [] if split == "train" else records.shared(train, lambda path: first.get(path, path))
        if both:
            copy = next(path for path in train.paths if first.get(path, path) == first.get(both[0], both[0]))
            videos = f"{plural(len(both), f'{split} video')} equal training videos"
            found.append(Copies(f"by content {videos} ({both[0]} is {copy})", decides=True))
    labels = defaultdict[str, dict[object, str]](dict)
    for records in splits.values():
        for index, (path, start, end) in enumerate(records.identities()):
            if path in first and start is None and end is None:
                labels[first[path]].setdefault(records.label(index), path)
    twice = [[*paths.values()] for paths in labels.values() if len(paths) > 1]
    if twice:
        videos = plural(len(twice), "video")
        found.append(Copies(f"by content {videos} of two classes ({twice[0][1]} is {twice[0][0]})", decides=False))
    return found


def _is_video(path: str) -> bool:
    """Return whether a file can be read; broken downloads are often equal, and are left out anyway."""
    try:
        return os.path.isdir(path) or frame_table(Path(path)).count > 0
    except DecodeError:
        return False


def refuse_copies(data: Any) -> None:
    """Refuse a validation or test on copies of training videos; say which videos are in two classes."""
    if not data.compares_contents:
        return
    for found in contradicting_copies(data):
        if found.decides:
            raise UserError(f"data.root: {found.text}; delete the copies in one of the splits")
        print_once(f"data.root: {found.text}; one of the labels is wrong")


def refuse_choice(data: Any, callbacks: Iterable[object]) -> None:
    """Refuse to test on videos that also select the checkpoint or stop the training."""
    if data.disjoint:
        return
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
