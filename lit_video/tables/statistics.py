"""Statistics of a test: intervals over its videos and over seeds, several tests at once, power, calibration.

Videos of one person or recording, or a video and its reverse, are one draw: a *cluster* of videos.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
LEVEL = (1 - CONFIDENCE) / 2  # level of a one-sided test
POWER = 0.8  # chance of showing a difference that is there (Cohen, Statistical Power Analysis, 1988)
FEWEST_CLUSTERS = 3  # below this number of clusters there is no interval
ENOUGH_CLUSTERS = 6  # from this number on, all videos have the same weight; below, all clusters have the same
FEW_SEEDS = 5  # below this number, a small spread of a row's seeds may be luck
FEW_DEVIATE = 4  # below this number of videos that deviate from the others, their variance tells little
Hits = Sequence[NDArray[np.bool_]]  # by seed: whether each test video is right


def cluster_numbers(groups: NDArray[np.generic] | None, videos: int) -> NDArray[np.intp]:
    """Return the cluster of every video as a number from 0; without ``groups`` each video is a cluster of its own."""
    if groups is None:
        return np.arange(videos)
    if len(groups) != videos:
        raise ValueError(f"groups of {len(groups)} videos, but {videos} were tested")
    numbers: NDArray[np.intp] = np.unique(groups, return_inverse=True)[1]
    return numbers


def video_weights(clusters: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the weight of every video in the mean; weights sum to 1.

    With few clusters, each has the same weight, so the mean is the mean of the clusters' means: a t-test over these
    holds its level for clusters of any size and variance (Ibragimov and Mueller, Journal of Business & Economic
    Statistics, 2010). With many clusters, each video has the same weight.
    """
    sizes = np.bincount(clusters)
    if len(sizes) >= ENOUGH_CLUSTERS:
        return np.full(len(clusters), 1 / len(clusters))
    weights: NDArray[np.float64] = 1 / (len(sizes) * sizes[clusters])
    return weights


def weighted_mean(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the mean of one value for each video, the same to the last bit on any CPU.

    A product of vectors adds in an order that depends on the CPU's instructions, so equal accuracies of two rows may
    differ by 1e-17 there; here the sum is exact before it is rounded (Shewchuk, Discrete & Computational Geometry 18,
    1997).
    """
    return math.fsum((weights * values).tolist())


def effective_draws(clusters: NDArray[np.intp], weights: NDArray[np.float64]) -> float:
    """Return the effective number of clusters of different weights (Kish, 1965)."""
    shares = np.bincount(clusters, weights)
    return 1 / float(np.square(shares).sum())


def squared_error(values: NDArray[np.float64], clusters: NDArray[np.intp], weights: NDArray[np.float64]) -> float:
    """Return the squared standard error of a weighted mean over clustered videos.

    Cluster-robust variance with the factor G / (G - 1) for G clusters (Liang and Zeger, Biometrika, 1986; for tests of
    models: Miller, arXiv:2411.00640). With clusters of one video it is the variance divided by the number of videos;
    with one weight for each cluster, the variance of the clusters' means divided by their number.
    """
    mean = weighted_mean(values, weights)
    sums = np.bincount(clusters, weights * (values - mean))
    count = len(sums)
    return count / (count - 1) * float(np.square(sums).sum())


@dataclass(frozen=True)
class Spread:
    """Variance of a mean accuracy over seeds, in squared shares, with its degrees of freedom."""

    variance: float
    freedom: int


def own_spread(means: NDArray[np.float64]) -> Spread | None:
    """Return the spread of a row from its mean accuracy by seed; ``None`` with a single seed."""
    if len(means) < 2:
        return None
    return Spread(float(means.var(ddof=1)), len(means) - 1)


def pooled_spread(rows: Iterable[NDArray[np.float64]]) -> Spread | None:
    """Return the pooled variance over the rows of a table, each row with its mean accuracy by seed.

    The mean of the rows' variances, weighted by their degrees of freedom, as in analysis of variance (Snedecor and
    Cochran, Statistical Methods). ``None`` if no row has two seeds.
    """
    squares = 0.0
    freedom = 0
    for means in rows:
        own = own_spread(means)
        if own:
            squares += own.variance * own.freedom
            freedom += own.freedom
    return Spread(squares / freedom, freedom) if freedom else None


def trusted_spread(means: NDArray[np.float64], pooled: Spread | None) -> Spread | None:
    """Return a row's own spread, or the table's pooled one if that is larger and the row has few seeds.

    Three seeds may end alike by chance: their standard deviation is below half of the true one in 22 % of cases, and
    below a fifth of it in 4 %. A pooled spread that is smaller than the row's own is not used.
    """
    own = own_spread(means)
    if own and pooled and len(means) < FEW_SEEDS and pooled.variance > own.variance:
        return pooled
    return own


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

    variance = squared_error(values, clusters, np.full(videos, 1 / videos))
    effective = min(videos, variance_of_one / variance) if variance else videos
    level = (1 + CONFIDENCE) / 2
    return effective * float(ndtri(level) / stdtrit(len(sizes) - 1, level)) ** 2


def paired_difference(
    first: Hits, second: Hits, *, groups: NDArray[np.generic] | None = None, pooled: Spread | None = None
) -> Interval:
    """Return the accuracy of one row minus another's, with an interval over test videos and seeds.

    The squared error is a sum of parts: that of the differences over videos, and for each row the variance over seeds
    divided by the number of seeds. Degrees of freedom are by Welch-Satterthwaite (Welch, 1947). The sum counts the
    interaction of videos and seeds twice, so fewer than 5 % of intervals miss the true difference
    (``tests/tables/test_statistics.py``). With one seed the interval holds for these two trained models only.

    If no video of fourteen differs between two rows, the variance is 0, but the next video may differ. So where few
    videos deviate from the others, or none, the error over videos is at least that of a share of which no draw is an
    example: Wilson's interval then reaches 3.8 / (n + 3.8).

    Args:
        first: hits of one row by seed.
        second: hits of the other row, on the same videos.
        groups: cluster of each video; ``None`` if each video is one.
        pooled: spread over seeds in the whole table, see :func:`trusted_spread`.
    """
    from scipy.special import stdtrit  # here, because importing it takes 0.15 s

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

    of_videos = squared_error(by_video, clusters, weights)
    if not of_videos or np.abs(by_video - np.median(by_video)).sum() < FEW_DEVIATE:
        _, reach = wilson(0.0, effective_draws(clusters, weights))
        of_videos = max(of_videos, (reach / float(stdtrit(draws - 1, 1 - LEVEL))) ** 2)

    parts = [(of_videos, float(draws - 1), 0.0)]
    for hits in (a, b):
        means = np.array([weighted_mean(of_seed, weights) for of_seed in hits])
        if spread := trusted_spread(means, pooled):
            parts.append((spread.variance / len(means), float(spread.freedom), 1.0))
    return _welch(value, parts)


def _welch(value: float, parts: Sequence[tuple[float, float, float]]) -> Interval:
    """Return the interval of a value whose squared error is a sum of parts.

    Each part has its degrees of freedom, and the share of it that comes from seeds.
    """
    from scipy.special import stdtrit

    variance = sum(part for part, _, _ in parts)
    freedom = variance**2 / sum(part**2 / own for part, own, _ in parts)
    error = 100 * math.sqrt(variance)
    half = error * float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    seeds_share = sum(part * share for part, _, share in parts) / variance
    return Interval(value, value - half, value + half, error, freedom, seeds_share)


def mean_of_halves(first: Interval, second: Interval) -> Interval:
    """Return the mean of a difference in two halves of the draws, such as persons, each tested by models of its own.

    Draws are resampled within their half and seeds are nested in it, so the squared error is the sum of both halves',
    with degrees of freedom by Welch-Satterthwaite. That one half's draws train the other half's models is left out, as
    in cross-validation.
    """
    value = (first.value + second.value) / 2
    if not (first.bounded and second.bounded):
        return Interval(value, -math.inf, math.inf, math.inf)

    return _welch(value, [((half.error / 200) ** 2, half.freedom, half.seeds_share) for half in (first, second)])


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


def holm_adjusted(chances: Sequence[float]) -> list[float]:
    """Return adjusted p-values by Holm's step-down procedure, in the order given.

    If every null hypothesis with an adjusted p-value of at most a level is rejected, the chance of any wrong rejection
    is at most that level. The tests may depend on each other, for example by sharing runs (Holm, 1979).
    """
    adjusted = [1.0] * len(chances)
    largest = 0.0
    for rank, index in enumerate(np.argsort(chances, kind="stable")):
        remaining = len(chances) - rank
        largest = max(largest, min(1.0, remaining * chances[index]))
        adjusted[index] = largest
    return adjusted


def detectable(interval: Interval, tests: int = 1, level: float = LEVEL) -> float:
    """Return the smallest true difference in points that a one-sided test shows with a chance of ``POWER``.

    The usual approximation for a t-test, ``(t(1 - level) + t(POWER)) * error`` (Chow, Shao and Wang, Sample Size
    Calculations in Clinical Research, 3.2). With many degrees of freedom and a single test, this is
    ``(1.96 + 0.84) / 1.96 = 1.43`` times half the width of a 95 % interval. A true difference of half the width itself
    would be shown by only half of all repeats.

    Args:
        interval: difference with its standard error.
        tests: number of tests that Holm's procedure corrects for; the first one has the level ``level / tests``.
        level: one-sided level of all tests together.
    """
    from scipy.special import stdtrit

    if not interval.bounded:
        return math.inf
    if not interval.error:
        return 0.0
    critical = float(stdtrit(interval.freedom, 1 - level / tests))
    reached = float(stdtrit(interval.freedom, POWER))
    return (critical + reached) * interval.error


def chances_of_spread(means: Sequence[float], bound: float) -> tuple[float, float]:
    """Return the one-sided p-values of two hypotheses on the standard deviation over seeds: at least, and at most.

    The chi-square tests of a normal variance (for example NIST/SEMATECH e-Handbook, 7.2.3.1).

    Args:
        means: a row's accuracy by seed, at least two.
        bound: standard deviation to test against, in the unit of the accuracies.
    """
    from scipy.special import chdtr, chdtrc  # here, because importing it takes 0.15 s

    freedom = len(means) - 1
    squares = freedom * float(np.var(means, ddof=1)) / bound**2
    return float(chdtr(freedom, squares)), float(chdtrc(freedom, squares))


def calibration_error(confidence: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = 15) -> float:
    """Return the expected calibration error in percent (Guo et al., arXiv:1706.04599).

    Args:
        confidence: probability of each video's predicted class, by which videos are binned.
        hits: whether each prediction is right.
        bins: number of bins of equal width.
    """
    confidence = confidence.astype(np.float64)
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    # |mean confidence - accuracy| of each bin times its number of videos
    distances = np.abs(np.bincount(index, confidence - hits, bins))
    return 100 * float(distances.sum() / max(len(hits), 1))
