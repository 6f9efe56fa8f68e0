"""Probes of frozen features: which skill a video shows, and which direction given the skill.

Features have the shape ``(rounds, skills, 2, width)``; the third axis is a video played backwards and as drawn. Every
other round trains the probe, the rest test it, so a video and its reverse are never on both sides. The penalty is
chosen within the training rounds, by the log loss on a third of them. (Cross-validation would test on all videos. But
where features tell nothing, its accuracies vary 1.28 times as much as those of as many independent videos, so their
intervals would be wrong.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lit_video.utils.logistic import HELD_OUT, FeatureArray, best_strength, coordinates, fit_logistic, log_loss

FEWEST_ROUNDS = 4
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ProbeHits:
    """Whether each test video is right; both arrays have the shape ``(test rounds, skills, 2)``."""

    recognised: Bools
    direction: Bools


def linear_hits(features: NDArray[np.floating]) -> ProbeHits:
    """Train logistic regressions on features ``(rounds, skills, 2, width)``; return which test videos are right.

    *Recognised* is by one classifier of the skills. *Direction* is by one classifier of the two directions for each
    skill, tested on all videos of that skill, recognised or not; these classifiers share one penalty.
    """
    tested = is_tested(len(features))
    # coordinates for a linear classifier, scaled by the training rounds
    rows = _rows(features.astype(np.float64))
    x = coordinates(rows, np.repeat(~tested, len(rows) // len(features))).reshape(*features.shape[:-1], -1)
    return ProbeHits(_recognised(x[~tested], x[tested]), _directed(x[~tested], x[tested]))


def is_tested(rounds: int) -> Bools:
    """Return for each round whether it tests the probe; the others train it."""
    return np.arange(rounds) % 2 == 1


def _recognised(trained: FeatureArray, tested: FeatureArray) -> Bools:
    """Return whether the skill of each tested video is named; arguments ``(rounds, skills, 2, width)``."""

    def loss(fitted: FeatureArray, held_out: FeatureArray, strength: float) -> float:
        model = fit_logistic(_rows(fitted), _skill_of(fitted), strength)
        return log_loss(model, _rows(held_out), _skill_of(held_out))

    if trained.shape[1] == 1:
        return np.ones(tested.shape[:-1], np.bool_)
    model = fit_logistic(_rows(trained), _skill_of(trained), _strength(trained, loss))
    hits: Bools = model.predict(_rows(tested)) == _skill_of(tested)
    return hits.reshape(tested.shape[:-1])


def _directed(trained: FeatureArray, tested: FeatureArray) -> Bools:
    """Return whether the direction of each tested video is named, given its skill."""

    def loss(fitted: FeatureArray, held_out: FeatureArray, strength: float) -> float:
        total = 0.0
        for number in range(fitted.shape[1]):
            model = fit_logistic(_rows(fitted[:, number]), _way_of(fitted[:, number]), strength)
            total += log_loss(model, _rows(held_out[:, number]), _way_of(held_out[:, number]))
        return total

    strength = _strength(trained, loss)
    hits = np.zeros(tested.shape[:-1], np.bool_)
    for number in range(trained.shape[1]):
        model = fit_logistic(_rows(trained[:, number]), _way_of(trained[:, number]), strength)
        right = model.predict(_rows(tested[:, number])) == _way_of(tested[:, number])
        hits[:, number] = right.reshape(-1, 2)
    return hits


def _strength(trained: FeatureArray, loss: Callable[[FeatureArray, FeatureArray, float], float]) -> float:
    """Return the strength with the lowest loss on the held-out training rounds."""
    held_out = np.arange(len(trained)) % HELD_OUT == 0
    return best_strength(partial(loss, trained[~held_out], trained[held_out]))


def _rows(x: FeatureArray) -> FeatureArray:
    return x.reshape(-1, x.shape[-1])


def _skill_of(x: FeatureArray) -> NDArray[np.intp]:
    """Return the skill of every row of ``(rounds, skills, 2, width)``."""
    return np.broadcast_to(np.arange(x.shape[1])[:, None], x.shape[:-1]).reshape(-1)


def _way_of(x: FeatureArray) -> NDArray[np.intp]:
    """Return the direction of every row of ``(rounds, 2, width)``: 0 backwards, 1 as drawn."""
    return np.broadcast_to(np.arange(x.shape[1]), x.shape[:-1]).reshape(-1)
