"""Confidence intervals of accuracies and their differences, over test videos and seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import (
    FEWEST_CLUSTERS,
    cluster_numbers,
    effective_draws,
    squared_error,
    video_weights,
    weighted_mean,
)
from lit_video.tables.statistics.levels import CONFIDENCE, LEVEL
from lit_video.tables.statistics.spread import Spread, trusted_spread
from lit_video.tables.statistics.wilson import wilson

FEW_DEVIATE = 4  # below this number of videos that deviate from the others, their variance tells little
Hits = Sequence[NDArray[np.bool_]]  # by seed: whether each test video is right


@dataclass(frozen=True)
class Interval:
    """Estimate in percentage points with its confidence interval, standard error and degrees of freedom."""

    value: float
    low: float  # minus infinity if there are too few clusters for an interval
    high: float
    error: float = 0.0
    freedom: float = math.inf
    seeds_share: float = 0.0  # share of the squared error that comes from seeds, 0 to 1; the rest is from test videos

    def __str__(self) -> str:
        if not self.bounded:
            return f"{self.value:+z.1f}, no interval"
        return f"{self.value:+z.1f} [{self.low:+z.1f}, {self.high:+z.1f}]"

    @property
    def bounded(self) -> bool:
        """True if there is an interval."""
        return math.isfinite(self.high - self.low)

    def above(self, bound: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at most a bound (Student's t)."""
        from scipy.special import stdtr  # here, because importing it takes 0.15 s

        if math.isinf(bound):
            return float(bound > 0)
        if not self.bounded:
            return 1.0
        if not self.error:
            return float(self.value <= bound)
        return float(stdtr(self.freedom, (bound - self.value) / self.error))

    def below(self, bound: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true value is at least a bound."""
        mirrored = Interval(-self.value, -self.high, -self.low, self.error, self.freedom)
        return mirrored.above(-bound)

    @property
    def sign(self) -> int:
        """1 if the interval is above zero, -1 if it is below, 0 if it contains zero."""
        return int(self.low > 0) - int(self.high < 0)


def paired_difference(
    first: Hits, second: Hits, *, groups: NDArray[np.generic] | None = None, pooled: Spread | None = None
) -> Interval:
    """Return the accuracy of one row minus another's, with an interval over test videos and seeds.

    The squared error is a sum of parts: that of the differences over videos, see ``_error_of_videos``,
    and for each row the variance over seeds divided by the number of seeds. Degrees of freedom are by
    Welch-Satterthwaite (Welch, 1947). The sum counts the interaction of videos and seeds twice, so fewer than 5 % of
    intervals miss the true difference (``tests/tables/test_statistics.py``). With one seed the interval holds for these
    two trained models only.

    Args:
        first: hits of one row by seed.
        second: hits of the other row, on the same videos.
        groups: cluster of each video, see :mod:`~lit_video.tables.statistics.clusters`; ``None`` if each video is one.
        pooled: spread over seeds in the whole table, see :func:`~lit_video.tables.statistics.spread.trusted_spread`.
    """
    a = np.array(first, np.float64)
    b = np.array(second, np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"tested on {a.shape[-1]} and on {b.shape[-1]} videos, which cannot be paired")

    clusters = cluster_numbers(groups, a.shape[1])
    weights = video_weights(clusters)
    by_video = a.mean(0) - b.mean(0)
    value = 100 * weighted_mean(by_video, weights)

    draws = int(clusters.max()) + 1
    if draws < FEWEST_CLUSTERS:
        return Interval(value, -math.inf, math.inf, math.inf)

    of_videos = (_error_of_videos(by_video, clusters, weights), draws - 1)
    of_seeds = []
    for hits in (a, b):
        means = np.array([weighted_mean(of_seed, weights) for of_seed in hits])
        of_seeds += _seed_parts(means, pooled)
    return _welch(value, of_videos, of_seeds)


def _error_of_videos(by_video: NDArray[np.float64], clusters: NDArray[np.intp], weights: NDArray[np.float64]) -> float:
    """Return the squared error of a mean over test videos, also where few videos deviate from the others, or none.

    If no video of fourteen differs between two rows, the variance is 0, but the next video may differ. So the error is
    at least that of a share of which no draw is an example: Wilson's interval then reaches 3.8 / (n + 3.8).
    """
    from scipy.special import stdtrit  # here, because importing it takes 0.15 s

    error = squared_error(by_video, clusters, weights)
    if error and np.abs(by_video - np.median(by_video)).sum() >= FEW_DEVIATE:
        return error
    _, reach = wilson(0.0, effective_draws(clusters, weights))
    draws = int(clusters.max()) + 1
    return max(error, (reach / float(stdtrit(draws - 1, 1 - LEVEL))) ** 2)


def _seed_parts(means: NDArray[np.float64], pooled: Spread | None) -> list[tuple[float, int]]:
    """Return the squared error of a row's mean over seeds, with degrees of freedom; an empty list for a single seed."""
    spread = trusted_spread(means, pooled)
    return [(spread.variance / len(means), spread.freedom)] if spread else []


def _welch(value: float, of_videos: tuple[float, int], of_seeds: list[tuple[float, int]]) -> Interval:
    """Return the interval of a value whose squared error is a sum of parts, each with its degrees of freedom."""
    from scipy.special import stdtrit

    parts = [of_videos, *of_seeds]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / own for part, own in parts)
    error = 100 * math.sqrt(variance)
    half = error * float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    share = sum(part for part, _ in of_seeds) / variance
    return Interval(value, value - half, value + half, error, freedom, share)
