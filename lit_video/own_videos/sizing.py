"""Settings of a training that fits the user's minutes: the largest clips with which enough epochs fit."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lit_video.datamodules.probe import VideoInfo
from lit_video.own_videos import choices
from lit_video.own_videos.budget import (
    ENOUGH,
    FEWEST_EPOCHS,
    built,
    clips_per_second,
    duration_in_words,
    epochs_needed,
    length,
    most_epochs,
    other_orders,
    probed,
    too_short,
)
from lit_video.own_videos.choices import Choice, Machine, measured, nested
from lit_video.own_videos.schemes import TableRows
from lit_video.own_videos.starts import SCRATCH, Start
from lit_video.utils.text import plural

_logger = logging.getLogger(__name__)

MINUTES_OF_DEVICE = {"CPU": 10.0, "GPU": 30.0}
FROZEN_BY_DEFAULT = {"CPU": "yes", "GPU": "no"}  # but for small models, whose layers are all trained
GB_OF_A_PIXEL = 3e-9  # three bytes, RGB


@dataclass(frozen=True)
class Workload:
    """Videos to train on, and the user's wishes."""

    facts: Sequence[VideoInfo]  # facts of every video
    classes: Sequence[str]
    pixels: tuple[float, float] | None  # mean and deviation of the training videos' pixels, 0 to 1
    training: int  # training videos of a run
    epoch: int  # videos per epoch, summed over runs
    tested: int  # test videos, summed over runs
    runs: int  # trainings that share the time
    is_validated: bool
    rows: TableRows  # schemes to compare; empty for the single row that belongs to the starting weights
    minutes: float | None
    frozen: str | None  # yes or no: freeze the backbone; None for the machine's default
    features: Path  # folder of the features of a frozen backbone

    @property
    def decoded(self) -> float:
        """Size of all decoded frames in GB."""
        frames = measured(self.facts, "frames")
        pixels = measured(self.facts, "width") * measured(self.facts, "height")
        return float(GB_OF_A_PIXEL * (frames * pixels).sum())


@dataclass(frozen=True)
class Chosen:
    """Settings with their reasons, the rows that share them, and the duration of the trainings, in words."""

    choices: Sequence[Choice]
    rows: TableRows
    duration: str


@dataclass(frozen=True)
class _Candidate:
    """Settings for clips of one size, and the length of training that the measured speed allows."""

    settings: list[Choice]
    lengths: list[Choice]
    clips_per_second: float

    @property
    def epochs(self) -> int:
        return int(self.lengths[0].value)


@dataclass(frozen=True)
class _Choosing:
    """Choice of clips for one start on one machine."""

    task: Workload
    start: Start
    machine: Machine
    rows: TableRows
    minutes: float
    frozen: list[Choice]  # choices for a frozen backbone

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Frames and pixels of clips, cheapest first."""
        return choices.sizes(self.task.facts, self.task.training, self.machine, start=self.start)

    def candidate(self, size: tuple[int, int]) -> _Candidate:
        """Choose settings for clips of a size, and measure how fast they are trained."""
        task = self.task
        settings = choices.choose(
            task.facts,
            decoded=task.decoded,
            pixels=task.pixels,
            classes=task.classes,
            training=task.training,
            machine=self.machine,
            start=self.start,
            size=size,
        )
        settings += self.frozen
        rate = self._speed(settings)
        most = most_epochs(self.start, task.training, nested(settings)["data"]["batch_size"])
        lengths = length(rate, task.epoch, self.minutes, most=most, validates=task.is_validated, runs=task.runs)
        return _Candidate(settings, lengths, rate)

    def _speed(self, settings: Sequence[Choice]) -> float:
        """Return the speed of the slowest row in clips per second."""
        groups = nested(settings)
        model, data = groups["model"], groups["data"]
        rates = []
        for row in self.rows.values():
            net = built(self.start.model, model, data, classes=len(self.task.classes), row=row)
            rates.append(clips_per_second(net, data, "features" in data))
        return min(rates)

    def largest(self, smallest: _Candidate) -> _Candidate:
        """Return the largest clips with which at least ``ENOUGH`` epochs fit; the smallest clips if none do."""
        best = smallest
        for size in self.sizes[1:]:
            larger = self.candidate(size)
            if larger.epochs < ENOUGH:
                break
            best = larger
        return best


def choose_settings(task: Workload, start: Start) -> Chosen:
    """Choose whether to freeze the backbone, the size of clips, the length of training, and further tests.

    If weights that nobody asked for leave too few epochs, the models start from scratch instead.
    """
    machine = Machine.here().shared(task.runs)
    minutes = task.minutes or MINUTES_OF_DEVICE[machine.kind]
    start, frozen, seconds = _frozen(task, start, machine, minutes=minutes)
    choosing = _Choosing(task, start, machine, task.rows or start.rows, minutes, frozen)

    smallest = choosing.candidate(choosing.sizes[0])
    if start.sides and not start.is_named and smallest.epochs <= FEWEST_EPOCHS:
        frames, side = choosing.sizes[0]
        clips = f"even with clips of {frames} frames x {side} pixels"
        why = f"in {plural(minutes, 'minute')} too few epochs fit, {clips}"
        _logger.info(f"{start.weights}: {why}. All schemes start from scratch. More time: --minutes N")
        start = SCRATCH
        choosing = _Choosing(task, start, machine, choosing.rows, minutes, frozen)
        smallest = choosing.candidate(choosing.sizes[0])

    best = choosing.largest(smallest)
    settings = best.settings
    if not start.weights and best.epochs < ENOUGH:
        settings = choices.crop_less(settings)
    lasts = duration_in_words(best.clips_per_second, task.epoch, best.epochs, minutes=minutes)
    batch = nested(settings)["data"]["batch_size"]
    needed = epochs_needed(start, task.training, batch)
    short = too_short(best.clips_per_second, task.epoch, needed, minutes=minutes)
    if short:
        lasts = f"{lasts}. {short}"
    orders = _other_orders(task, settings, seconds or 1 / best.clips_per_second, minutes=minutes)
    return Chosen([*settings, *best.lengths, orders], choosing.rows, lasts)


def _other_orders(task: Workload, settings: Sequence[Choice], seconds: float, *, minutes: float) -> Choice:
    """Choose whether to test with the frames in other orders too, by the time that these tests take.

    Args:
        task: the videos.
        settings: choices so far, with the number of views.
        seconds: time of a view, or of a training clip as an upper bound.
        minutes: time of the trainings.
    """
    data = nested(settings)["data"]
    views = task.tested * data["test_clips"] * data["test_crops"]
    return other_orders(views, seconds, minutes)


def _frozen(
    task: Workload, start: Start, machine: Machine, *, minutes: float
) -> tuple[Start, list[Choice], float | None]:
    """Put a probe on the frozen backbone of a start; return this start, its choices, and the seconds of a view.

    If the backbone is not frozen, return the start as it is, no choices, and ``None`` for the time.
    """
    default = "no" if start.is_small else FROZEN_BY_DEFAULT[machine.kind]
    is_frozen = (task.frozen or default) == "yes"
    if not start.weights or start.sides or not is_frozen:
        return start, [], None
    probe, chosen, seconds = probed(start, len(task.facts), task.epoch, minutes=minutes, classes=len(task.classes))
    return probe, [*chosen, Choice("data.features", str(task.features), "float16, shared by all rows")], seconds
