"""Measurement of a frozen model: accuracies of its probes by skill, beside floors, in the minutes that a user gives."""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import OptionError
from lit_video.probes.frozen import FrozenModel
from lit_video.probes.heads import FEWEST_ROUNDS, Bools, ProbeHits, attentive_hits, linear_hits
from lit_video.probes.kept import KeptFeatures
from lit_video.probes.videos import ProbeVideos
from lit_video.tables.statistics import LEVEL, Interval, accuracy_interval, chance_of_share, holm_adjusted, wilson
from lit_video.utils.text import plural

DEFAULT_MINUTES = 3.0  # the time if --minutes is not given
MOST_ROUNDS = 128  # 128 test videos of each skill resolve 9 points
MOST_FEATURE_BYTES = 4e9  # limit of kept features
RESOLVED = 10.0  # points; for wider intervals, a message names the minutes that would reach this
TOKEN_AXES = 5  # rounds, skills, directions, tokens, width

_logger = logging.getLogger(__name__)


def rounds_for(minutes: float | None, seconds: float, bytes_of_round: float) -> int:
    """Return the number of rounds that fit into the user's minutes and into the limit of kept features.

    Args:
        minutes: the user's; ``None`` for ``DEFAULT_MINUTES``.
        seconds: duration of a round.
        bytes_of_round: size of the features of a round.

    Raises:
        OptionError: fewer than ``FEWEST_ROUNDS`` fit.
    """
    fitting = int(60 * (minutes or DEFAULT_MINUTES) / seconds)
    least = math.ceil(10 * FEWEST_ROUNDS * seconds / 60) / 10
    if minutes is not None and fitting < FEWEST_ROUNDS:
        raise OptionError("minutes", f"is {minutes:g}; {FEWEST_ROUNDS} pairs of each skill, the least, take {least:g}")

    room = int(MOST_FEATURE_BYTES / bytes_of_round)
    if room < FEWEST_ROUNDS:
        gigabytes = FEWEST_ROUNDS * bytes_of_round / 1e9
        raise OptionError("tokens", f"features of {FEWEST_ROUNDS} pairs of each skill take {gigabytes:.0f} GB")
    return max(FEWEST_ROUNDS, min(fitting, room, MOST_ROUNDS))


def resolution(videos: int) -> float:
    """Return half the width, in points, of the interval of an accuracy of 50 % on so many independent videos."""
    low, high = wilson(0.5, videos)
    return 50 * (high - low)


def resolved(rounds: int, seconds: float | None) -> str:
    """Say how wide an interval is for one skill, and how many minutes would narrow it to ``RESOLVED`` points.

    Args:
        rounds: number of rounds; half of them test the probe.
        seconds: duration of a round; ``None`` if all features were kept, so that none was timed.
    """
    tested = 2 * (rounds // 2)
    half = resolution(tested)
    text = f"{plural(tested, 'test video')} of each skill: an interval of about ±{half:.0f} points around 50"
    if half <= RESOLVED or seconds is None:
        return text

    needed = next(number for number in range(rounds, 10**4) if resolution(2 * (number // 2)) <= RESOLVED)
    return f"{text}; ±{RESOLVED:.0f} would take about {plural(math.ceil(needed * seconds / 60), 'minute')}"


@dataclass(frozen=True)
class SkillSeen:
    """Accuracies of a probe for one skill, in percent of test videos, with 95 % intervals."""

    name: str
    kind: str  # sign of the direction; when: which event came first; change: how neighbouring states differ
    recognised: Interval
    direction: Interval
    chance: float  # p-value of the hypothesis that direction is 50 % or less, after Holm's correction over the skills
    pixels: Interval  # direction by the same probe from the pixels of small frames
    two_frames: float  # highest direction that two neighbouring frames at a known time tell
    sum_bound: float | None  # highest direction that a sum over frames can reach; None if unknown

    @property
    def is_seen(self) -> bool:
        """True if the direction is shown to be above 50 %."""
        return self.chance <= LEVEL


@dataclass(frozen=True)
class ProbeAccuracies:
    """Accuracies of a probe for all skills."""

    skills: Sequence[SkillSeen]
    recognised: Interval  # over all skills
    direction: Interval
    pixels_recognised: Interval  # from the pixels of small frames, over all skills
    pixels_direction: Interval
    rounds: int  # pairs of each skill; half of them train the probe
    steps: int  # steps of a turn
    probe: str  # linear or attentive
    resolution: str  # in words
    folder: Path  # kept features
    mean_token: "ProbeAccuracies | None" = None  # beside an attentive probe: a linear probe of the mean token


def probe_skills(
    model: FrozenModel, *, seed: int = 0, minutes: float | None = None, pairs: int | None = None
) -> ProbeAccuracies:
    """Probe a frozen model on the temporal skills.

    Args:
        model: the model, see :func:`~lit_video.probes.sources.frozen_model`.
        seed: seed of the videos.
        minutes: time for the features; ``None`` for ``DEFAULT_MINUTES``, or as long as the fewest rounds take.
        pairs: number of pairs of each skill, in place of minutes.

    Raises:
        UserError: the model fails, gives no features, or gives other features for the same clip at a second call.
    """
    videos = ProbeVideos(model.clip.num_frames, model.clip.image_size, seed)
    kept = KeptFeatures(model, videos)
    with model.in_eval_mode():
        seconds = kept.check()
        rounds, missing, seconds_of_round = _planned(kept, minutes, pairs, seconds=seconds)
        kept.complete(missing)

    features = kept.read(rounds)
    pixels = linear_hits(features.small_frames)

    def accuracies(hits: ProbeHits, probe: str) -> ProbeAccuracies:
        return ProbeAccuracies(
            _by_skill(videos, hits, pixels),
            recognised=_share(hits.recognised),
            direction=_share(hits.direction),
            pixels_recognised=_share(pixels.recognised),
            pixels_direction=_share(pixels.direction),
            rounds=rounds,
            steps=videos.steps,
            probe=probe,
            resolution=resolved(rounds, seconds_of_round),
            folder=kept.folder,
        )

    if features.features.ndim != TOKEN_AXES:
        return accuracies(linear_hits(features.features), "linear")
    mean_token = features.features.mean(axis=-2, dtype=np.float64)
    return replace(
        accuracies(attentive_hits(features.features), "attentive"),
        mean_token=accuracies(linear_hits(mean_token), "linear"),
    )


def _planned(
    kept: KeptFeatures, minutes: float | None, pairs: int | None, *, seconds: float
) -> tuple[int, list[int], float | None]:
    """Return the number of rounds, the rounds to make, and the seconds of a round, ``None`` if none was timed."""
    in_a_round = kept.videos.in_a_round
    if pairs is not None:
        return pairs, kept.missing(pairs), seconds * in_a_round

    asked = minutes or 0.0  # the default's key
    planned = kept.planned(asked)
    if planned is not None:
        return planned, kept.missing(planned), None

    rounds_for(minutes, 0.5 * seconds * in_a_round, 1.0)  # refuse before the first round what cannot fit
    began = time.perf_counter()
    first = kept.missing(1)
    kept.complete(first)
    seconds_of_round = time.perf_counter() - began if first else seconds * in_a_round

    rounds = rounds_for(minutes, seconds_of_round, kept.size_of_round())
    kept.plan(asked, rounds)
    _logger.info(
        f"{rounds} pairs of {len(kept.videos.skills)} skills: about {rounds * seconds_of_round / 60:.1f} minutes"
    )
    return rounds, kept.missing(rounds), seconds_of_round


def _by_skill(videos: ProbeVideos, hits: ProbeHits, pixels: ProbeHits) -> list[SkillSeen]:
    of_skills = [hits.direction[:, number] for number in range(len(videos.skills))]
    # p-values of a direction of 50 % or less
    chances = holm_adjusted([chance_of_share(skill.reshape(-1), _pairs(skill), 0.5) for skill in of_skills])

    bounds = videos.sum_bounds()
    neighbours = videos.two_frames_bounds()

    return [
        SkillSeen(
            skill.name,
            skill.kind,
            recognised=_share(hits.recognised[:, number]),
            direction=_share(of_skills[number]),
            chance=chances[number],
            pixels=_share(pixels.direction[:, number]),
            two_frames=neighbours[number],
            sum_bound=bounds[number],
        )
        for number, skill in enumerate(videos.skills)
    ]


def _share(hits: Bools) -> Interval:
    """Return the share of hits ``(..., 2)`` with its interval.

    A video and its reverse, the last axis, count as one draw.
    """
    return accuracy_interval(hits.reshape(-1), groups=_pairs(hits))


def _pairs(hits: Bools) -> NDArray[np.intp]:
    return np.repeat(np.arange(hits.size // 2), 2)
