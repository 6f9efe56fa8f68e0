"""Probes of frozen features: which skill a video shows, and which direction given the skill.

Features ``(rounds, skills, 2, width)`` are of rounds of videos; the last two axes but one are a skill's video played
backwards and as drawn. Every other round trains the probe, the others test it. A video and its reverse are in one
round, so they are never on both sides. The strength of the penalty is chosen within the training rounds alone, by the
log loss on a third of them. (Cross-validation would test all videos, but without anything to read its accuracies vary
1.28 times as much as those of as many independent videos, so their intervals would be wrong.)
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST_ROUNDS = 4
HELD_OUT = 3  # one of so many training rounds chooses the penalty
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # inverse of the penalty, from strong to weak
MOST_STEPS = 1000  # steps of the solver
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Hits:
    """Whether each test video is right, by test rounds, skills and directions: ``(rounds, skills, 2)``."""

    recognised: Bools
    direction: Bools


def linear_hits(features: NDArray[np.floating]) -> Hits:
    """Return what logistic regression reads in features ``(rounds, skills, 2, width)``.

    *Recognised* is a classifier of the skills. *Direction* is a classifier of the two directions for each skill, which
    is tested on all videos of the skill, recognised or not; all of them share one penalty.
    """
    tested = is_tested(len(features))
    x = _scaled(features.astype(np.float64), ~tested)
    return Hits(_recognised(x[~tested], x[tested]), _directed(x[~tested], x[tested]))


def is_tested(rounds: int) -> Bools:
    """Return for each round whether it tests the probe; the others train it."""
    return np.arange(rounds) % 2 == 1


def _scaled(features: Floats, trained: Bools) -> Floats:
    """Standardise by the training videos; if there are fewer videos than features, turn them into few coordinates.

    The coordinates have the videos' inner products, so a penalised linear classifier of them is the same.
    """
    from sklearn.preprocessing import StandardScaler  # imported late: it takes a second

    shape = features.shape
    flat = features.reshape(-1, shape[-1])
    width = shape[-1]
    scaler = StandardScaler().fit(features[trained].reshape(-1, width))
    scaled = scaler.transform(flat)
    if len(scaled) < width:
        squares, axes = np.linalg.eigh(scaled @ scaled.T)
        scaled = axes * np.sqrt(squares.clip(min=0))
    return scaled.reshape(*shape[:-1], -1)


def _recognised(trained: Floats, tested: Floats) -> Bools:
    """Return whether the skill of each tested video is named; arguments ``(rounds, skills, 2, width)``."""

    def loss(fitted: Floats, held_out: Floats, strength: float) -> float:
        model = _fit(_rows(fitted), _skill_of(fitted), strength)
        scores = model.predict_log_proba(_rows(held_out))
        labels = _skill_of(held_out)
        return -float(scores[np.arange(len(labels)), labels].sum())

    if trained.shape[1] == 1:
        return np.ones(tested.shape[:-1], np.bool_)
    model = _fit(_rows(trained), _skill_of(trained), _strength(trained, loss))
    hits: Bools = model.predict(_rows(tested)) == _skill_of(tested)
    return hits.reshape(tested.shape[:-1])


def _directed(trained: Floats, tested: Floats) -> Bools:
    """Return whether the direction of each tested video is named, given its skill."""

    def loss(fitted: Floats, held_out: Floats, strength: float) -> float:
        total = 0.0
        for number in range(fitted.shape[1]):
            model = _fit(_rows(fitted[:, number]), _way_of(fitted[:, number]), strength)
            scores = model.predict_log_proba(_rows(held_out[:, number]))
            labels = _way_of(held_out[:, number])
            total -= float(scores[np.arange(len(labels)), labels].sum())
        return total

    strength = _strength(trained, loss)
    hits = np.zeros(tested.shape[:-1], np.bool_)
    for number in range(trained.shape[1]):
        model = _fit(_rows(trained[:, number]), _way_of(trained[:, number]), strength)
        right = model.predict(_rows(tested[:, number])) == _way_of(tested[:, number])
        hits[:, number] = right.reshape(-1, 2)
    return hits


def _strength(trained: Floats, loss: Callable[[Floats, Floats, float], float]) -> float:
    """Return the strength with the lowest loss on the held-out training rounds; of equal ones the strongest penalty."""
    held_out = np.arange(len(trained)) % HELD_OUT == 0
    losses = [loss(trained[~held_out], trained[held_out], strength) for strength in STRENGTHS]
    return STRENGTHS[int(np.argmin(losses))]


def _fit(x: Floats, labels: NDArray[np.intp], strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a weak penalty may need more steps; the held-out rounds judge it
        return LogisticRegression(C=strength, max_iter=MOST_STEPS).fit(x, labels)


def _rows(x: Floats) -> Floats:
    return x.reshape(-1, x.shape[-1])


def _skill_of(x: Floats) -> NDArray[np.intp]:
    """Return the skill of every row of ``(rounds, skills, 2, width)``."""
    return np.broadcast_to(np.arange(x.shape[1])[:, None], x.shape[:-1]).reshape(-1)


def _way_of(x: Floats) -> NDArray[np.intp]:
    """Return the direction of every row of ``(rounds, 2, width)``: 0 backwards, 1 as drawn."""
    return np.broadcast_to(np.arange(x.shape[1]), x.shape[:-1]).reshape(-1)
