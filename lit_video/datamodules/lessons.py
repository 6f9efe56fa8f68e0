"""A first lesson: which training videos it shows, and refusal of one that cannot be given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.records import Records
from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean
from lit_video.video.loading import TrainingSampler
from lit_video.video.training_order import Lesson, VideoNumbers


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
