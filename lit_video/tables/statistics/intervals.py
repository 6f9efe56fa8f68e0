"""Confidence intervals of accuracies and of their differences, over test videos and seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from lit_video.tables.statistics.spread import Spread, trusted_spread

CONFIDENCE = 0.95
LEVEL = (1 - CONFIDENCE) / 2  # level of a one-sided test
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


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return the interval of a share of ``count`` draws (Wilson, 1927)."""
    from scipy.special import ndtri  # here, because importing it takes 0.15 s

    share = min(max(share, 0.0), 1.0)  # sums of weights may leave the range by rounding
    quantile = float(ndtri((1 + CONFIDENCE) / 2))
    scale = 1 + quantile**2 / count
    centre = (share + quantile**2 / (2 * count)) / scale
    half = quantile / scale * math.sqrt(share * (1 - share) / count + quantile**2 / (4 * count**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def accuracy_interval(hits: NDArray[np.bool_], *, groups: NDArray[np.generic] | None = None) -> Interval:
    """Return an accuracy in percent with Wilson's interval for the effective number of videos.

    Args:
        hits: whether each video is right, ``(videos,)``.
        groups: cluster of each video; ``None`` if each video is one. Below three clusters there is no interval.
    """
    share = float(hits.mean())
    if groups is None:
        count = float(len(hits))
    elif len(np.unique(groups)) < FEWEST_CLUSTERS:
        return Interval(100 * share, -math.inf, math.inf, math.inf)
    else:
        count = effective_count(hits, groups)

    low, high = wilson(share, count)
    error = math.sqrt(share * (1 - share) / count)
    return Interval(100 * share, 100 * low, 100 * high, 100 * error)


def chance_of_share(hits: NDArray[np.bool_], groups: NDArray[np.generic], share: float) -> float:
    """Return the one-sided p-value of the hypothesis that the true share is at most ``share`` (score test)."""
    from scipy.special import ndtr  # here, because importing it takes 0.15 s

    error = math.sqrt(share * (1 - share) / effective_count(hits, groups))
    return float(ndtr((share - float(hits.mean())) / error))


def effective_count(hits: NDArray[np.bool_], groups: NDArray[np.generic]) -> float:
    """Return the number of independent videos whose share of hits is as uncertain as that of these videos.

    This number is that of the videos divided by the design effect of the clusters, which is taken as at least 1, times
    ``(z / t)**2``, because few clusters tell the design effect only roughly (Korn and Graubard, Survey Methodology 24,
    1998; Dean and Pagano, Journal of Survey Statistics and Methodology 3, 2015). If all videos are right, or all wrong,
    nothing tells how similar the videos of a cluster are, so clusters are counted instead; clusters of different sizes
    count as fewer (Kish, 1965).
    """
    from scipy.special import ndtri, stdtrit  # here, because importing it takes 0.15 s

    values = hits.astype(np.float64)
    videos = len(values)
    clusters = cluster_numbers(groups, videos)
    sizes = np.bincount(clusters)

    variance_of_one = float(values.var())
    if not variance_of_one:
        return videos**2 / float(np.square(sizes).sum())

    equal_weights = np.full(videos, 1 / videos)
    variance = squared_error(values, clusters, equal_weights)
    effective = float(videos)
    if variance:
        effective = min(effective, variance_of_one / variance)
    level = (1 + CONFIDENCE) / 2
    return effective * float(ndtri(level) / stdtrit(len(sizes) - 1, level)) ** 2


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
    of_seeds: list[tuple[float, float]] = []  # empty for single seeds
    for hits in (a, b):
        means = np.array([weighted_mean(of_seed, weights) for of_seed in hits])
        if spread := trusted_spread(means, pooled):
            of_seeds.append((spread.variance / len(means), spread.freedom))
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


def _welch(value: float, of_videos: tuple[float, float], of_seeds: list[tuple[float, float]]) -> Interval:
    """Return the interval of a value whose squared error is a sum of parts, each with its degrees of freedom."""
    from scipy.special import stdtrit

    parts = [of_videos, *of_seeds]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / own for part, own in parts)
    error = 100 * math.sqrt(variance)
    half = error * float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    share = sum(part for part, _ in of_seeds) / variance
    return Interval(value, value - half, value + half, error, freedom, share)


def mean_of_halves(first: Interval, second: Interval) -> Interval:
    """Return the mean of a difference in two halves of the draws, such as persons, each tested by models of its own.

    Draws are resampled within their half and seeds are nested in it, so the squared error is the sum of both halves',
    with degrees of freedom by Welch-Satterthwaite. That one half's draws train the other half's models is left out, as
    in cross-validation.
    """
    value = (first.value + second.value) / 2
    if not (first.bounded and second.bounded):
        return Interval(value, -math.inf, math.inf, math.inf)

    parts = [((half.error / 200) ** 2, half.freedom) for half in (first, second)]
    mean = _welch(value, parts[0], parts[1:])
    of_seeds = sum(part * half.seeds_share for (part, _), half in zip(parts, (first, second), strict=True))
    return replace(mean, seeds_share=of_seeds / sum(part for part, _ in parts))


def cautious_difference(first: Hits, second: Hits, *, groups: NDArray[np.generic] | None = None) -> Interval:
    """Return the accuracy of one test minus another's, on the same videos, with an interval for few videos.

    If few videos differ, lost and gained ones are seldom equally many, but the interval of
    :func:`paired_difference` is symmetric. So it is widened to contain a second
    one, from the shares of draws that are lost and gained (Wilson, 1927; combined as in Newcombe, Statistics in
    Medicine 17, 1998, 873-890). If none of ``n`` draws differs, both reach 3.8 / (``n`` + 3.8): 14 videos without a
    difference still allow a loss of 21 points.

    The arguments are those of :func:`paired_difference`.
    """
    paired = paired_difference(first, second, groups=groups)
    difference = np.array(first, np.float64).mean(0) - np.array(second, np.float64).mean(0)
    clusters = cluster_numbers(groups, len(difference))
    weights = video_weights(clusters)
    of_draws = np.bincount(clusters, weights * difference)
    draws = effective_draws(clusters, weights)

    lost = float(of_draws.clip(min=0).sum())
    gained = float((-of_draws).clip(min=0).sum())
    least_lost, most_lost = wilson(lost, draws)
    least_gained, most_gained = wilson(gained, draws)
    below = math.hypot(lost - least_lost, most_gained - gained)
    above = math.hypot(most_lost - lost, gained - least_gained)
    low = max(min(paired.low, paired.value - 100 * below), -100.0)
    high = min(max(paired.high, paired.value + 100 * above), 100.0)
    return Interval(paired.value, low, high, paired.error, paired.freedom, paired.seeds_share)
