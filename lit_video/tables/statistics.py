"""Confidence intervals over test videos and seeds, rank agreement with a paper, calibration."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
Hits = Sequence[NDArray[np.bool_]]  # by seed: whether each test video is right
Verdict = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Interval:
    """Estimate in percentage points with its confidence interval, standard error and degrees of freedom."""

    value: float
    low: float
    high: float
    error: float = 0.0
    freedom: float = math.inf

    def __str__(self) -> str:
        return f"{self.value:+.1f} [{self.low:+.1f}, {self.high:+.1f}]"

    def above(self, bound: float) -> float:
        """Return a one-sided p-value, small where the true value is above a bound (Student's t)."""
        from scipy.special import stdtr  # here, because importing it takes 0.15 s

        if not self.error:
            return float(self.value <= bound)
        return float(stdtr(self.freedom, (bound - self.value) / self.error))

    def below(self, bound: float) -> float:
        """Return a one-sided p-value, small where the true value is below a bound."""
        return Interval(-self.value, -self.high, -self.low, self.error, self.freedom).above(-bound)

    @property
    def sign(self) -> int:
        """Side of zero: 1 above, -1 below, 0 where the interval holds zero."""
        return int(self.low > 0) - int(self.high < 0)


def paired_difference(first: Hits, second: Hits) -> Interval:
    """Return the accuracy of one row minus another's, with an interval over test videos and seeds.

    Welch's interval: the squared error sums the variance of the differences over videos and each row's variance over
    seeds, each divided by its sample size, with Welch-Satterthwaite degrees of freedom (Welch, 1947). This counts the
    interaction of videos and seeds twice, so fewer than 5 % of intervals miss the true difference
    (``tests/tables/test_statistics.py``). With one seed the interval is for these two trained models only.
    """
    from scipy.special import stdtrit

    a, b = np.array(first, np.float64), np.array(second, np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"tested on {a.shape[-1]} and on {b.shape[-1]} videos, which cannot be paired")
    value, variance, spread = 100 * float(a.mean() - b.mean()), 0.0, 0.0
    for sample in (a.mean(0) - b.mean(0), a.mean(1), b.mean(1)):
        if len(sample) > 1:
            part = float(sample.var(ddof=1)) / len(sample)
            variance += part
            spread += part**2 / (len(sample) - 1)
    if not variance:
        return Interval(value, value, value)
    error, freedom = 100 * math.sqrt(variance), variance**2 / spread
    half = error * float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    return Interval(value, value - half, value + half, error, freedom)


def difference_of(hits: Mapping[str, Hits], first: str, second: str) -> Interval | None:
    """Return the paired difference of two rows; ``None`` if the hits of one are unknown."""
    return paired_difference(hits[first], hits[second]) if first in hits and second in hits else None


def holm(chances: Sequence[float], level: float = (1 - CONFIDENCE) / 2) -> list[bool]:
    """Return which null hypotheses are rejected, at a family-wise error of at most ``level`` (Holm, 1979)."""
    rejected = [False] * len(chances)
    for rank, i in enumerate(np.argsort(chances, kind="stable")):
        if chances[i] > level / (len(chances) - rank):
            break
        rejected[i] = True
    return rejected


def kendall_tau(paper: Sequence[float], ours: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; ``None`` for fewer than two rows, or if all values of one side are equal."""
    if min(len(set(paper)), len(set(ours))) < 2:
        return None
    from scipy.stats import kendalltau  # takes a second

    return float(kendalltau(paper, ours).statistic)


def calibration_error(confidence: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = 15) -> float:
    """Return the expected calibration error in percent (Guo et al., arXiv:1706.04599).

    Videos are binned by ``confidence``, the predicted class's probability; ``hits``: whether the prediction is right.
    """
    confidence = confidence.astype(np.float64)
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    distances = np.abs(np.bincount(index, confidence - hits, bins))  # distance of each bin times its number of videos
    return 100 * float(distances.sum() / max(len(hits), 1))
