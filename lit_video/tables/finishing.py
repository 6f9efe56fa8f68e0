"""Whether a training has finished, by skill: were its films learned, or does twice the training not help?

A row that ends before attention over frames has begun says nothing about the scheme. A skill *has begun* if the
interval of its directions right on fresh films, as difficult as those of training, lies above chance. A skill that has
begun is *finished* if 90 % of its training films are right, or if half of the training, with a schedule of its own,
ends less than three points below on the fresh films of all skills that have begun, with an upper bound below five. The
half has the whole first lesson, which shows two skills alone, and half of the steps after it.

On other videos a training is finished if 90 % of its training videos are right, by its record, or else by its curve.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from lit_video.runs.folder import FinishedRun, read_curves
from lit_video.runs.predictions import DIRECTION, Predictions, read_further
from lit_video.settings.nested import flatten
from lit_video.tables.contrasts import run_contrast, uncovered
from lit_video.tables.statistics import Interval, accuracy_interval, cautious_difference
from lit_video.utils.text import plural

CHANCE = 50.0  # percent of directions
VALIDATED = "val/direction/"  # start of the names of directions by skill in a curve
LEARNED = 90.0  # percent of the training videos, or of a skill's training films
TRAINED = "train/video_top1"  # name of the accuracy on training videos among a result's metrics
GAIN = 3.0  # points by which twice the training may help a finished row
GAIN_BOUND = 5.0  # upper bound of these points
OF_LENGTH = ("steps", "trainer.max_steps", "trainer.max_epochs")  # settings in which a run and its half differ


@dataclass(frozen=True)
class LearnedShare:
    """Training videos that a run had right at its end."""

    percent: float
    augmented: bool  # by the last epoch of the curve, on augmented clips, where no test of training videos was recorded


def learned_share(run: FinishedRun) -> LearnedShare | None:
    """Return how many training videos a run had right at its end; ``None`` if neither record nor curve says it."""
    recorded = run.result.metrics.get(TRAINED)
    if recorded is not None:
        return LearnedShare(recorded, augmented=False)
    of_clips = [point["train/clip_top1"] for point in read_curves(run.folder) if "train/clip_top1" in point]
    return LearnedShare(of_clips[-1], augmented=True) if of_clips else None


def why_unfinished(runs: Sequence[FinishedRun], halves: Sequence[FinishedRun], told: Collection[str] | None) -> str:
    """Say why a row has not finished, over its seeds; empty if it has, or if nothing is known of its training videos.

    Args:
        runs: the row's runs, one for each seed.
        halves: runs of the row with half of the steps, of some seeds or none.
        told: skills that the row can tell; ``None`` on videos without skills.
    """
    ends = []
    for run in runs:
        half = next((half for half in halves if is_half(half, run)), None)
        if told is not None and (end := end_of(run, half, told)):
            ends.append((run.result.seed, end))

    if len(ends) < len(runs):
        shares = [share for run in runs if (share := learned_share(run))]
        least = min(shares, key=lambda share: share.percent, default=None)
        if least is None or least.percent >= LEARNED or len(shares) < len(runs):
            return ""
        return f"{least.percent:.0f} % of training {'clips' if least.augmented else 'videos'}"

    reasons = []
    for skill in sorted(told or ()):
        late = [seed for seed, end in ends if skill in end.not_begun]
        if late:
            reasons.append(f"{len(late)} of {plural(len(ends), 'seed')} has not begun {skill}")
    for seed, end in ends:
        if end.unfinished:
            reasons.append(f"seed {seed} has not finished {', '.join(end.unfinished)}")
    return "; ".join(reasons)


def is_half(half: FinishedRun, run: FinishedRun) -> bool:
    """Return whether a run is another one with the same seed and settings, but half of the steps on all classes."""
    if half.result.seed != run.result.seed or half.result.steps != steps_of_half(run):
        return False
    return not uncovered(run_contrast(run, half), OF_LENGTH)


def steps_of_half(run: FinishedRun) -> int:
    """Return the steps of a run's half: its first lesson, and half of the steps that show all classes after it."""
    lesson = lesson_steps(run)
    return lesson + (run.result.steps - lesson) // 2


def lesson_steps(run: FinishedRun) -> int:
    """Return the steps of a run's first lesson; 0 if it had none."""
    steps: int = flatten(run.identity.settings).get("data.init_args.lesson.steps") or 0
    return steps


def lesson_skills(run: FinishedRun, skills: Collection[str]) -> frozenset[str]:
    """Return those of a test's skills whose classes a run's first lesson shows; none if it had no lesson."""
    classes: Sequence[str] = flatten(run.identity.settings).get("data.init_args.lesson.classes") or ()
    return frozenset(skill for skill in skills if any(name.startswith(f"{skill} ") for name in classes))


def begun_by_step(run: FinishedRun) -> dict[int, dict[str, bool]]:
    """Return whether each skill's directions lie above chance on the validation videos, by the validation's step.

    Empty without a curve by skill, or on videos that do not say how many of each skill are validated.
    """
    pairs = flatten(run.identity.settings).get("data.init_args.pairs")
    if pairs is None:
        return {}
    by_step = {}
    for point in read_curves(run.folder):
        directions = {name: percent for name, percent in point.items() if name.startswith(VALIDATED)}
        if directions:
            begun = {name.removeprefix(VALIDATED): _is_above(percent, pairs[1]) for name, percent in directions.items()}
            by_step[int(point["step"])] = begun
    return by_step


def steps_to_begin(run: FinishedRun) -> dict[str, int | None]:
    """Return after how many steps a run's directions stay above chance on the validation videos, by skill.

    Validation comes at some steps only, and seldom at the last: a skill that only the test finds above chance has begun
    with the last step. A skill that is at chance at the end has ``None``. See :func:`begun_by_step`.
    """
    steps: dict[str, int | None] = {}
    for step, begun in begun_by_step(run).items():
        for skill, is_begun in begun.items():
            steps[skill] = (steps.get(skill) or step) if is_begun else None

    pairs: Sequence[int] = flatten(run.identity.settings).get("data.init_args.pairs") or ()
    for skill, first in steps.items():
        tested = run.result.metrics.get(f"{DIRECTION}/{skill}")
        if first is None and tested is not None and _is_above(tested, pairs[2]):
            steps[skill] = run.result.steps
    return steps


@lru_cache(maxsize=4096)  # many runs and skills have the same few shares of right directions
def _is_above(percent: float, pairs: int) -> bool:
    """Return whether the 95 % interval of directions right lies above chance, on films and as many reverses."""
    films = np.arange(2 * pairs)
    right = films < round(len(films) * percent / 100)
    return accuracy_interval(right, groups=films // 2).low > CHANCE


def end_of(run: FinishedRun, half: FinishedRun | None, told: Collection[str]) -> "Finish | None":
    """Return how a run ended on the skills that it can tell; ``None`` if it was not tested on fresh films."""
    trained, fresh = (read_further(run.folder, run.result, split) for split in ("train", "fresh"))
    if trained is None or fresh is None:
        return None
    before = None if half is None else read_further(half.folder, half.result, "fresh")
    return finish(trained, fresh, told, half=before)


def refuse_unknown_skills(told: Collection[str], skills: Collection[str]) -> None:
    """Refuse skills that a row can tell and its predictions do not know, which would be left out silently."""
    unknown = {*told} - {*skills}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: no such skill among {', '.join(sorted(skills))}")


@dataclass(frozen=True)
class Finish:
    """How a training ended: its skills, and what the second half of the steps added."""

    direction: Mapping[str, Interval]  # by skill: directions right of fresh films, in percent
    trained: Mapping[str, float]  # by skill: training films of which skill and direction are right, in percent
    gain: Interval | None = None  # points above half of the training, over the skills that have begun

    @property
    def not_begun(self) -> list[str]:
        """Names of the skills that have not begun: the directions right do not lie above chance."""
        return [skill for skill, direction in self.direction.items() if direction.low <= CHANCE]

    @property
    def unfinished(self) -> list[str]:
        """Names of the skills that have begun, and are neither learned nor at their end."""
        at_end = self.gain is not None and self.gain.value < GAIN and self.gain.high < GAIN_BOUND
        late = [skill for skill, trained in self.trained.items() if trained < LEARNED and not at_end]
        return [skill for skill in late if skill not in self.not_begun]


def finish(
    trained: Predictions, fresh: Predictions, told: Collection[str], *, half: Predictions | None = None
) -> Finish:
    """Return how a training ended.

    Args:
        trained: predictions of training films.
        fresh: predictions of fresh films, with their draws: a film and its reverse are one.
        told: skills that the row can tell.
        half: predictions of the same fresh films after half of the training.
    """
    if not fresh.has_directions:
        raise ValueError("the classes of these predictions have no opposites, so no direction is right or wrong")
    right = fresh.hits(DIRECTION)
    films = fresh.tasks[""]
    skills = films.opposites
    refuse_unknown_skills(told, skills)
    learned = trained.tasks[""]
    draws = fresh.draws.number if fresh.draws else None

    direction = {}
    shares = {}
    for skill, classes in skills.items():
        if skill in told:
            of_skill = np.isin(films.target, classes)
            groups = None if draws is None else draws[of_skill]
            direction[skill] = accuracy_interval(right[of_skill], groups=groups)
            shares[skill] = 100 * float(learned.hits()[np.isin(learned.target, classes)].mean())

    end = Finish(direction, shares)
    begun = [classes for skill, classes in skills.items() if skill in direction.keys() - end.not_begun]
    if half is None or not begun:
        return end
    of_begun = np.isin(films.target, begun)
    before = half.of(fresh.video).hits(DIRECTION)
    groups = None if draws is None else draws[of_begun]
    return replace(end, gain=cautious_difference([right[of_begun]], [before[of_begun]], groups=groups))
