"""Logistic regression on frozen features; its penalty is chosen within the training videos alone."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD_OUT = 3  # one of so many training videos, or rounds of videos, chooses the penalty
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # inverse of the penalty, from strong to weak
UNCHOSEN = 1e-2  # strength where too few training videos are there to choose one
SOLVER_STEPS = 1000  # steps of the solver
FeatureArray = NDArray[np.float64]


def coordinates(features: FeatureArray, trained: NDArray[np.bool_]) -> FeatureArray:
    """Standardise features ``(videos, width)`` by the training videos; fewer videos than features get few coordinates.

    The coordinates have the videos' inner products, so a penalised linear classifier of them is the same.
    """
    from sklearn.preprocessing import StandardScaler  # imported late: it takes a second

    scaled: FeatureArray = StandardScaler().fit(features[trained]).transform(features)
    if len(scaled) < scaled.shape[1]:
        squares, axes = np.linalg.eigh(scaled @ scaled.T)
        scaled = axes * np.sqrt(squares.clip(min=0))
    return scaled


def best_strength(loss: Callable[[float], float]) -> float:
    """Return the strength with the lowest loss; of equal ones the strongest penalty."""
    return STRENGTHS[int(np.argmin([loss(strength) for strength in STRENGTHS]))]


def fit_logistic(x: FeatureArray, labels: NDArray[np.integer], strength: float) -> Any:
    """Return scikit-learn's logistic regression of ``(videos, width)``."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    # products of so few videos are faster on one thread: several wait for each other
    with warnings.catch_warnings(), threadpool_limits(1, "blas"):
        warnings.simplefilter("ignore")  # a weak penalty may need more steps; the held-out videos judge it
        return LogisticRegression(C=strength, max_iter=SOLVER_STEPS).fit(x, labels)


def log_loss(model: Any, x: FeatureArray, labels: NDArray[np.integer]) -> float:
    """Return the sum of the log losses of videos whose classes are among those that the model was fitted to."""
    has_class = np.isin(labels, model.classes_)
    if not has_class.any():
        return 0.0
    scores = model.predict_log_proba(x[has_class])
    return -float(scores[np.arange(len(scores)), np.searchsorted(model.classes_, labels[has_class])].sum())


def head_scores(
    features: FeatureArray,
    labels: NDArray[np.integer],
    draws: NDArray[np.integer],
    *,
    tested: FeatureArray,
    classes: int,
) -> FeatureArray:
    """Train a linear head on features; return its log probabilities of other videos, ``(tested, classes)``.

    A third of the draws chooses the penalty, by the log loss; videos of one draw are never on both sides. A class
    without training videos is never predicted. The tested videos choose nothing.

    Args:
        features: ``(videos, width)`` of the training videos.
        labels: their classes, at least two different ones.
        draws: their draws, numbered from 0: videos of one person or recording are one draw.
        tested: ``(tested, width)`` of the tested videos.
        classes: number of classes.
    """
    trained = np.arange(len(features) + len(tested)) < len(features)
    x = coordinates(np.concatenate([features, tested]), trained)
    held_out = _held_out(labels, draws)

    def loss(strength: float) -> float:
        model = fit_logistic(x[trained][~held_out], labels[~held_out], strength)
        return log_loss(model, x[trained][held_out], labels[held_out])

    strength = best_strength(loss) if held_out.any() else UNCHOSEN
    model = fit_logistic(x[trained], labels, strength)
    scores = np.full((len(tested), classes), -np.inf)
    scores[:, model.classes_] = model.predict_log_proba(x[~trained])
    return scores


def _held_out(labels: NDArray[np.integer], draws: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which training videos choose the penalty: every third draw, in the order of their classes.

    A draw with videos of several classes counts for the class of its first video. No video chooses where the others
    show fewer than two classes, or none of theirs.
    """
    numbers, firsts = np.unique(draws, return_index=True)
    by_class = np.lexsort((firsts, labels[firsts]))
    held_out: NDArray[np.bool_] = np.isin(draws, numbers[by_class][HELD_OUT - 1 :: HELD_OUT])
    fitted = np.unique(labels[~held_out])
    if len(fitted) < 2 or not np.isin(labels[held_out], fitted).any():
        held_out[:] = False
    return held_out
