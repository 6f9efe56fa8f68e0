"""Settings of a training that fits the user's minutes: the largest clips with which enough epochs fit."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lit_video.datamodules.features import RANDOM
from lit_video.datamodules.probe import VideoInfo
from lit_video.engine.step_times import Pace
from lit_video.own_videos import choices
from lit_video.own_videos.budget import (
    ENOUGH,
    FEWEST_EPOCHS,
    Effort,
    duration_in_words,
    epochs_needed,
    length,
    most_epochs,
    one_step,
    other_orders,
    probed,
    too_short,
)
from lit_video.own_videos.choices import Choice, Machine, measured, mirroring, nested
from lit_video.own_videos.schemes import TableRows
from lit_video.own_videos.starts import SCRATCH, Start, first_answer_start
from lit_video.utils.text import plural

_logger = logging.getLogger(__name__)

MINUTES_OF_DEVICE = {"CPU": 10.0, "GPU": 30.0}
FROZEN_BY_DEFAULT = {"CPU": True, "GPU": False}  # not so for small models, whose layers are all trained
GB_OF_A_PIXEL = 3e-9  # three bytes, RGB


@dataclass(frozen=True)
class Workload:
    """Videos to train on, and the user's wishes."""

    facts: Sequence[VideoInfo]  # facts of every video
    classes: Sequence[str]
    pixels: tuple[float, float] | None  # mean and deviation of the training videos' pixels, 0 to 1
    trainings: Sequence[int]  # training videos of each of the runs, which share the time
    validated: int  # validation videos of each run
    tested: int  # test videos, summed over runs
    rows: TableRows  # schemes to compare; empty for the single row that belongs to the starting weights
    minutes: float | None
    frozen: bool | None  # whether to freeze the backbone; None for the machine's default
    answers: bool  # whether logistic regression on a small frozen model may take the place of a training
    mirror: bool | None  # whether to mirror training clips; None to decide by the classes
    features: Path  # folder of the features of a frozen backbone
    # trains a row of a start on some of the videos, with settings by group (trainer, data, model), so many runs at once
    rehearse: Callable[[Start, Mapping[str, Any], Mapping[str, Any], int], Pace]

    @property
    def training(self) -> int:
        """Number of training videos of the run with the fewest."""
        return min(self.trainings)

    @property
    def epoch(self) -> int:
        """Number of videos per epoch, summed over runs."""
        return sum(self.trainings)

    @property
    def runs(self) -> int:
        """Number of trainings that share the time."""
        return len(self.trainings)

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
    seconds: float  # duration of the trainings
    start: Start  # start of the trainings, perhaps another one than was asked for


@dataclass(frozen=True)
class _Candidate:
    """Settings for clips of one size, and the length of training that the measured speed allows."""

    settings: list[Choice]
    lengths: list[Choice]
    effort: Effort

    @property
    def epochs(self) -> int:
        return int(self.lengths[0].value)

    def fits(self, minutes: float) -> bool:
        """Return whether the fewest epochs that are trained fit into the time."""
        return self.effort.epochs(60 * minutes) >= FEWEST_EPOCHS


@dataclass(frozen=True)
class _Choosing:
    """Choice of clips for one start on one machine."""

    task: Workload
    start: Start
    machine: Machine
    rows: TableRows
    minutes: float
    at_once: int  # runs that train side by side
    frozen: list[Choice]  # choices for a frozen backbone
    once: float | None  # seconds of a view in the frozen backbone; None if all layers are trained

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
            mirroring=mirroring(task.classes, task.mirror),
            training=task.training,
            machine=self.machine,
            start=self.start,
            size=size,
        )

        settings += self.frozen
        effort, orders = self._effort(settings)
        if self.start.is_regression:
            return _Candidate([*settings, orders], one_step(effort), effort)
        most = most_epochs(self.start, task.training, effort.batch)
        return _Candidate([*settings, orders], length(effort, self.minutes, most=most), effort)

    def _effort(self, settings: Sequence[Choice]) -> tuple[Effort, Choice]:
        """Return what the runs of the slowest row do, and the choice of the further orders of frames in the test."""
        task = self.task
        data = nested(settings)["data"]
        paces = [task.rehearse(self.start, nested(settings), row, self.at_once) for row in self.rows.values()]
        pace = max(paces, key=lambda pace: pace.step)
        before = 0.0
        if self.once is not None:  # each video is read once, for all runs; in another order of frames again
            before = len(task.facts) * (pace.first_read + (1 + RANDOM) * self.once)
            pace = replace(pace, first_read=0.0, other_view=pace.first_read + self.once)
        views = data["test_clips"] * data["test_crops"]
        effort = Effort(
            pace=pace,
            trainings=task.trainings,
            at_once=1 if self.start.is_regression else self.at_once,
            batch=data["batch_size"],
            videos=len(task.facts),
            validated=task.validated,
            tested=task.tested,
            views=views,
            before=before,
        )

        orders = other_orders(task.tested * views, pace.other_view, self.minutes)
        tested = replace(effort, orders=len(orders.value))
        if self.start.is_regression and tested.seconds(1) > 60 * self.minutes:
            orders = other_orders(task.tested * views, pace.other_view, self.minutes, most=0.0)
            tested = effort
        return tested, orders

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

    If weights that nobody asked for leave too few epochs, the models start from scratch instead. Where the shortest
    training does not fit into the time, the first answer may take its place: a small frozen model.
    """
    here = Machine.here()
    machine = here.shared(task.runs)
    minutes = task.minutes or MINUTES_OF_DEVICE[machine.kind]
    start, frozen, once = _frozen(task, start, machine, minutes=minutes)
    choosing = _Choosing(
        task=task,
        start=start,
        machine=machine,
        rows=task.rows or start.rows,
        minutes=minutes,
        at_once=here.side_by_side(task.runs),
        frozen=frozen,
        once=once,
    )

    smallest = choosing.candidate(choosing.sizes[0])
    if start.sides and not start.is_named and smallest.epochs <= FEWEST_EPOCHS:
        frames, side = choosing.sizes[0]
        clips = f"even with clips of {frames} frames x {side} pixels"
        why = f"in {plural(minutes, 'minute')} too few epochs fit, {clips}"
        _logger.info(f"{start.weights}: {why}. All schemes start from scratch. More time: --minutes N")
        start = SCRATCH
        choosing = replace(choosing, start=start)
        smallest = choosing.candidate(choosing.sizes[0])

    best = choosing.largest(smallest)
    if task.answers and not best.fits(minutes):
        why = f"in {plural(minutes, 'minute')} no training fits"
        _logger.info(f"{why}: the model is the first answer, of a small frozen one. More time: --minutes N")
        start, frozen, once = _frozen(replace(task, frozen=True), first_answer_start(), machine, minutes=minutes)
        choosing = replace(choosing, start=start, rows=start.rows, frozen=frozen, once=once)
        best = choosing.candidate(choosing.sizes[0])

    settings = best.settings
    if not start.weights and best.epochs < ENOUGH:
        settings = choices.crop_less(settings)
    lasts = duration_in_words(best.effort, best.epochs, minutes=minutes)
    needed = epochs_needed(start, task.training, best.effort.batch)
    short = too_short(best.effort, needed, minutes=minutes)
    if short:
        lasts = f"{lasts}. {short}"
    return Chosen([*settings, *best.lengths], choosing.rows, lasts, best.effort.seconds(best.epochs), start)


def _frozen(
    task: Workload, start: Start, machine: Machine, *, minutes: float
) -> tuple[Start, list[Choice], float | None]:
    """Put a probe on the frozen backbone of a start; return this start, its choices, and the seconds of a view.

    If the backbone is not frozen, return the start as it is, no choices, and ``None`` for the time.
    """
    default = FROZEN_BY_DEFAULT[machine.kind] and not start.is_small
    is_frozen = default if task.frozen is None else task.frozen
    if not start.weights or start.sides or not is_frozen:
        return start, [], None
    probe, chosen, seconds = probed(start, len(task.facts), task.epoch, minutes=minutes, classes=len(task.classes))
    return probe, [*chosen, Choice("data.features", str(task.features), "float16, shared by all rows")], seconds
