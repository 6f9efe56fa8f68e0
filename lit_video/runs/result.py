"""Result of a finished run: its row, the cost and sight of its model, its accuracies, and how they were measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec


class Override(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Setting of a run that is not its row's; the file holds it as a list of two values."""

    wanted: Any  # the row's value
    used: Any  # the run's value


class VideoCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Videos of a split."""

    listed: int
    used: int  # without missing videos


class TestedWeights(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Checkpoint that was tested."""

    file: str  # path in the run's folder
    step: int  # optimizer step
    digest: str | None = None  # see weights.reading.weights_digest; older runs did not record it


@dataclass(frozen=True)
class RowFacts:
    """Row of a run and cost of its model, known before training."""

    table: str
    row: str
    scale: str
    seed: int
    scheme: str
    params: int
    gmacs: float  # multiply-adds of a view, 10^9
    views: int  # views of a test video


class RunResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Result of a finished run; a part that a run did not record is ``None``.

    Accuracies are in percent, times in seconds.
    """

    # the row
    table: str
    row: str
    scale: str
    seed: int

    # the model
    scheme: str
    params: int
    gmacs: float  # multiply-adds of a view, 10^9
    views: int  # views of a test video

    # sight of the model, and needs of the task, both on TemporalSkills
    reach: int | None = None  # largest distance of two frames that interact in the scores
    sees_order: bool | None = None  # whether reversed frames change the scores
    sees_near: bool | None = None  # whether any order of the frames changes the scores, but not their reversal
    blind_ceiling: float | None = None  # highest top-1 that a model blind to the order of frames can reach
    steps_shown: float | None = None  # share of a video's steps that one clip of the test shows
    needed_reach: int | None = None  # distance of the frames that a model must compare to solve the task
    told: Sequence[str] | None = None  # skills whose direction is told from the frames that the model compares
    sum_ceilings: Mapping[str, float] | None = None  # highest direction that a sum over frames can reach, by skill
    two_frames_ceilings: Mapping[str, float] | None = None  # highest of two neighbouring frames

    # the test
    metrics: Mapping[str, float]  # by name: test/video_top1
    test_videos: int  # 0 without a test
    test_broken: int  # videos that could not be read
    test_seen: int | None = None  # test videos that the model was trained on
    test_left_out: int | None = None  # listed test videos that were not tested
    video_counts: Mapping[str, VideoCount]  # by split

    # the training
    steps: int  # optimizer steps
    global_batch: int  # clips of an optimizer step
    overridden: Mapping[str, Override] | None = None  # settings that are not the row's, by key
    weights: TestedWeights
    skipped_steps: int  # updates that were left out because the loss was not finite
    seconds: float  # time of training
    checkpoint_seconds: float  # part of it spent waiting for checkpoints
    device: str
    command: str
    finished: str  # date and time

    # cross-validation, in the run trained on all videos
    temperature: float | None = None  # divisor of the logits
    folds: Mapping[str, float] | None = None  # top-1 by row of a fold

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            numbers = value if isinstance(value, Mapping) else {field: value}
            for name, number in numbers.items():
                if isinstance(number, float) and not math.isfinite(number):
                    raise ValueError(f"{name} is {number}")
