"""Logistic regression on frozen features; its penalty is chosen within the training videos alone."""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD_OUT = 3  # one of so many draws of training videos, or rounds of videos, chooses the penalty
STRENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # inverse of the penalty, from strong to weak
UNCHOSEN = 1e-2  # strength where too few training videos are there to choose one
SOLVER_STEPS = 1000  # steps of the solver
FeatureArray = NDArray[np.float64]


@dataclass(frozen=True)
class LinearClassifier:
    """A linear classifier of features as they are; a class that it never saw has no weights and the bias -inf."""

    weight: FeatureArray  # (classes, width)
    bias: FeatureArray  # (classes,)

    def scores(self, features: FeatureArray) -> FeatureArray:
        """Return the log probabilities ``(videos, classes)`` of features ``(videos, width)``."""
        from scipy.special import log_softmax

        scores: FeatureArray = log_softmax(features @ self.weight.T + self.bias, axis=1)
        return scores


def coordinates(features: FeatureArray, trained: NDArray[np.bool_]) -> FeatureArray:
    """Standardise features ``(videos, width)`` by the training videos; see :func:`few_coordinates`."""
    from sklearn.preprocessing import StandardScaler  # imported late: it takes a second

    return few_coordinates(StandardScaler().fit(features[trained]).transform(features))


def few_coordinates(scaled: FeatureArray) -> FeatureArray:
    """Give fewer videos than features few coordinates: ``(videos, width) -> (videos, at most videos)``.

    The coordinates have the videos' inner products, so a penalised linear classifier of them is the same.
    """
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

    # products of so few videos are faster on one thread: several wait for each other
    with warnings.catch_warnings(), _libraries().limit(limits=1, user_api="blas"):
        warnings.simplefilter("ignore")  # a weak penalty may need more steps; the held-out videos judge it
        return LogisticRegression(C=strength, max_iter=SOLVER_STEPS).fit(x, labels)


@cache
def _libraries() -> Any:
    """Return the libraries that compute products; to look for them takes as long as to fit a few videos."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def log_loss(model: Any, x: FeatureArray, labels: NDArray[np.integer]) -> float:
    """Return the sum of the log losses of videos whose classes are among those that the model was fitted to."""
    has_class = np.isin(labels, model.classes_)
    if not has_class.any():
        return 0.0
    scores = model.predict_log_proba(x[has_class])
    return -float(scores[np.arange(len(scores)), np.searchsorted(model.classes_, labels[has_class])].sum())


def fit_head(
    features: FeatureArray, labels: NDArray[np.integer], draws: NDArray[np.integer], *, classes: int
) -> LinearClassifier:
    """Train a linear classifier on features by penalised logistic regression.

    The penalty is that of the lowest log loss on draws that were left out: a third of them, each third in turn. Videos
    of one draw are never on both sides. A class without training videos is never predicted.

    Args:
        features: ``(videos, width)`` of the training videos.
        labels: their classes, at least two different ones.
        draws: their draws, numbered from 0: videos of one person or recording are one draw.
        classes: number of classes.
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features)
    scaled = scaler.transform(features)
    x = few_coordinates(scaled)
    thirds = [part for part in _left_out(labels, draws) if part.any()]

    def loss(strength: float) -> float:
        losses = []
        for part in thirds:
            model = fit_logistic(x[~part], labels[~part], strength)
            losses.append(log_loss(model, x[part], labels[part]))
        return math.fsum(losses)

    model = fit_logistic(x, labels, best_strength(loss) if thirds else UNCHOSEN)
    slopes, offsets = model.coef_, model.intercept_
    if len(slopes) == 1:  # there are two classes: this is the difference of their scores
        slopes = np.concatenate([-slopes, slopes]) / 2
        offsets = np.concatenate([-offsets, offsets]) / 2

    # least weights that give the same scores from standardised features; then those of the features themselves
    weights = np.linalg.lstsq(scaled, x @ slopes.T, rcond=None)[0].T / scaler.scale_
    weight = np.zeros((classes, features.shape[1]))
    bias = np.full(classes, -np.inf)
    weight[model.classes_] = weights
    bias[model.classes_] = offsets - weights @ scaler.mean_
    return LinearClassifier(weight, bias)


def _left_out(labels: NDArray[np.integer], draws: NDArray[np.integer]) -> Iterator[NDArray[np.bool_]]:
    """Yield the thirds of the draws, in the order of their classes, as the videos that choose the penalty.

    A draw with videos of several classes counts for the class of its first video. No video chooses where the others
    show fewer than two classes, or none of theirs.
    """
    numbers, firsts = np.unique(draws, return_index=True)
    by_class = np.lexsort((firsts, labels[firsts]))
    for first in range(HELD_OUT):
        left_out: NDArray[np.bool_] = np.isin(draws, numbers[by_class][HELD_OUT - 1 - first :: HELD_OUT])
        fitted = np.unique(labels[~left_out])
        if len(fitted) < 2 or not np.isin(labels[left_out], fitted).any():
            left_out[:] = False
        yield left_out
