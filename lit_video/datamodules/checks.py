"""Refusal of what contradicts itself in a data set: settings, copies across splits, tests that choose, lessons."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.files import MOST_PIXELS, within
from lit_video.utils.text import did_you_mean, plural
from lit_video.video.decoding import DecodeError, frame_table
from lit_video.video.loading import Lesson, TrainingSampler, VideoNumbers
from lit_video.video.settings import check_storable
from lit_video.video.trained_on import copies


def refuse_contradictions(data: Any) -> None:
    """Refuse settings that are out of range or contradict each other."""
    for size in (data.image_size, data.test_image_size):
        within("clips' pixels", data.num_frames * prod(height_and_width(size)), MOST_PIXELS)
    check_storable(data.sampling)
    data.sampling.check(data.num_frames, data.test_clips)

    augmentation = data.augmentation
    if (augmentation.crop == "whole") != (data.views == "whole"):
        settings = f"augmentation.crop is {augmentation.crop}, views is {data.views}"
        raise ValueError(f"{settings}: use whole for both or neither")
    data.training_view()  # refuses a short side smaller than the clip
    data.view(data.test_crops)  # refuses an unsupported number of crops

    if data.pairing and data.batch_size % 2:
        raise ValueError(f"batch_size is {data.batch_size}, expected an even number: with pairing a batch holds pairs")

    changes_order = data.order != "forward"
    changes_pixels = augmentation.random_erasing or augmentation.cutmix
    leaves_out_videos = data.found_broken.on_broken != "fail"
    if data.features and (changes_order or changes_pixels or leaves_out_videos or data.pairing):
        settings = "order, pairing, broken, augmentation.random_erasing and augmentation.cutmix"
        raise ValueError(f"features are computed from unchanged videos: leave out {settings}")


class Copies(NamedTuple):
    """Videos of equal content that contradict each other."""

    text: str
    decides: bool  # True if the videos of a result would have been trained on, so that training is refused


def contradicting_copies(data: Any) -> list[Copies]:
    """Describe videos of equal content in training and another split, or in two classes."""
    splits: dict[str, Records] = {}
    for split in data.present:
        records = Records.of(data.records(split))
        if not any(records is other for other in splits.values()):  # without a test the validation is tested
            splits[split] = records

    first_of = copies(path for records in splits.values() for path in records.paths)
    first_of = {path: first for path, first in first_of.items() if _is_video(first)}
    if not first_of:
        return []
    return [*_in_two_splits(splits, first_of), *_in_two_classes(splits, first_of)]


def _in_two_splits(splits: Mapping[str, Records], first_of: Mapping[str, str]) -> Iterator[Copies]:
    """Yield for each split the videos that equal training videos; ``first_of`` maps a video to its first copy."""

    def content(path: str) -> str:
        return first_of.get(path, path)

    train = splits["train"]
    for split, records in splits.items():
        if split == "train":
            continue
        copied = records.shared(train, content)
        if copied:
            original = next(path for path in train.paths if content(path) == content(copied[0]))
            videos = f"{plural(len(copied), f'{split} video')} equal training videos"
            yield Copies(f"by content {videos} ({copied[0]} is {original})", decides=True)


def _in_two_classes(splits: Mapping[str, Records], first_of: Mapping[str, str]) -> Iterator[Copies]:
    """Yield one text on all videos that are in two classes; segments of long videos may differ in class."""
    path_of: dict[str, dict[object, str]] = defaultdict(dict)  # by content and label
    for records in splits.values():
        for index, (path, start, end) in enumerate(records.identities()):
            if path in first_of and start is None and end is None:
                path_of[first_of[path]].setdefault(records.label(index), path)

    twice = [[*paths.values()] for paths in path_of.values() if len(paths) > 1]
    if twice:
        videos = plural(len(twice), "video")
        first, second, *_ = twice[0]
        yield Copies(f"by content {videos} of two classes ({second} is {first})", decides=False)


def _is_video(path: str) -> bool:
    """Return whether a file can be read as a video, because broken downloads are often equal and no copies."""
    try:
        return os.path.isdir(path) or frame_table(Path(path)).count > 0
    except DecodeError:
        return False


def refuse_copies(data: Any) -> None:
    """Refuse a validation or test on copies of training videos; say which videos are in two classes."""
    if not data.compares_contents:
        return
    for contradiction in contradicting_copies(data):
        if contradiction.decides:
            raise UserError(f"data.root: {contradiction.text}; delete the copies in one of the splits")
        print_once(f"data.root: {contradiction.text}; one of the labels is wrong")


def refuse_choice(data: Any, callbacks: Iterable[object]) -> None:
    """Refuse to test on videos that also select the checkpoint or stop the training."""
    if data.disjoint:
        return

    for callback in callbacks:
        metric = getattr(callback, "monitor", None) or "train"
        if metric.startswith("train"):
            continue

        validation = Records.of(data.records("val"))
        chosen_by = Records.of(data.records("test")).shared(validation, os.path.realpath)
        if not chosen_by:
            return
        kind = type(callback).__name__
        fault = f"{kind} chooses by {metric}, and {len(chosen_by)} of the validation videos are also tested"
        advice = "use other videos for the test, or leave out the callback"
        raise UserError(f"trainer.callbacks: {fault} ({chosen_by[0]}); {advice}")


def shown_in_lesson(data: Any, records: Records, reverses: VideoNumbers | None) -> NDArray[np.bool_]:
    """Return for each training video whether the first lesson of a data module shows it: ``(videos,)``."""
    names = data.class_names
    if isinstance(names, dict) or data.several_labels:
        raise UserError("data.lesson: its classes need one label for each video; leave it out")

    lesson: Lesson = data.lesson
    for name in lesson.classes:
        if name not in names:
            raise UserError(f"data.lesson.classes: {name!r} is no class{did_you_mean(name, names)}")

    shown: NDArray[np.bool_] = np.isin(records.labels, [names.index(name) for name in lesson.classes])
    if reverses is not None and (shown != shown[reverses]).any():
        raise UserError("data.lesson.classes: a film stands beside its reverse, so name the classes of both directions")
    return shown


def refuse_endless(lesson: Lesson, sampler: TrainingSampler, trainer: Any) -> None:
    """Refuse a lesson after which a training ends."""
    if trainer is None or trainer.fast_dev_run:
        return

    ends = [trainer.max_steps, (trainer.max_epochs or -1) * sampler.steps]
    steps = min((end for end in ends if end > 0), default=None)
    if steps is not None and steps <= lesson.steps:
        fault = f"{lesson.steps} leave none of the training's {steps} steps to all classes"
        raise UserError(f"data.lesson.steps: {fault}; take fewer, or train longer")
