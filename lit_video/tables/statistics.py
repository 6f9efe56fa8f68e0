"""How sure a table is: intervals over test videos, rank agreement with a paper, calibration. NumPy only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95

Hits = Sequence[NDArray[np.bool_]]
Verdict = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Interval:
    """An estimate in percentage points, and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 above zero, -1 below, 0 where the interval holds zero."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True)
class Ordering:
    """Two rows to which a paper gives different numbers, better first, and the verdict of our runs."""

    better: str
    worse: str
    difference: Interval | None
    verdict: Verdict


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-b between the paper's numbers and ours over ``rows`` rows, and every ordering of the paper's."""

    tau: float | None
    rows: int
    orderings: list[Ordering]

    def count(self, verdict: Verdict) -> int:
        """How many orderings have a verdict."""
        return sum(ordering.verdict == verdict for ordering in self.orderings)


def paired_difference(first: Hits, second: Hits, seed: int = 0) -> Interval:
    """Accuracy of one row less that of another, with a bootstrap interval over test videos and seeds.

    Videos are drawn with replacement, the same ones for both rows; of each row with several seeds, seeds are drawn
    too, so that a difference between two trainings of one row is not taken for one between rows. With one
    seed the interval covers these two trained models only. Percentile bootstrap (Efron & Tibshirani, 1993).

    Args:
        first: correctness of each test video by seed, ``(videos,)``.
        second: the same for the other row: the same videos in the same order.
        seed: seed of the draws.

    Raises:
        ValueError: the rows were not tested on equally many videos.
    """
    a, b = np.array(first, np.bool_), np.array(second, np.bool_)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"tested on {a.shape[-1]} and on {b.shape[-1]} videos, which cannot be paired")
    return _bootstrap(tuple(hits.tobytes() for hits in a), tuple(hits.tobytes() for hits in b), seed)


@lru_cache(maxsize=1024)  # tables share runs, and pages show a pair in several places
def _bootstrap(first: tuple[bytes, ...], second: tuple[bytes, ...], seed: int) -> Interval:
    a, b = (np.array([np.frombuffer(hits, np.bool_) for hits in row], np.float64) for row in (first, second))
    rng, videos = np.random.default_rng(seed), a.shape[1]
    # videos with equal outcomes in all runs are interchangeable: draw how many there are of each kind
    kinds, sizes = np.unique(np.concatenate((a, -b)), axis=1, return_counts=True)
    drawn = np.hstack([_shares_of_seeds(rng, len(row)) for row in (a, b)])
    drawn = drawn[np.lexsort(drawn.T[::-1])]  # equal ones together; np.unique takes ten times as long
    starts = np.flatnonzero(np.any(np.diff(drawn, axis=0, prepend=np.nan) != 0, axis=1))
    values = []
    for shares, times in zip(drawn[starts], np.diff(starts, append=RESAMPLES), strict=True):
        levels, level = np.unique(shares @ kinds, return_inverse=True)  # with these seeds, even fewer kinds
        values.append(rng.multinomial(videos, np.bincount(level, sizes) / videos, size=times) @ levels / videos)
    low, high = np.quantile(np.concatenate(values), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(100 * float(a.mean() - b.mean()), 100 * float(low), 100 * float(high))


def _shares_of_seeds(rng: np.random.Generator, seeds: int) -> NDArray[np.float64]:
    """Weights of a row's seeds in every resample; their spread is that of ``seeds - 1`` degrees of freedom.

    Drawn shares alone make the mean of few seeds vary too little, by sqrt((seeds - 1) / seeds) (Hesterberg,
    arXiv:1411.5279). With two or three seeds that are far apart more than 5 % of intervals still miss.
    """
    drawn = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=RESAMPLES) / seeds
    stretch = np.sqrt(seeds / (seeds - 1)) if seeds > 1 else 1.0
    return 1 / seeds + stretch * (drawn - 1 / seeds)


def kendall_tau(paper: Sequence[float], ours: Sequence[float]) -> float | None:
    """Kendall's tau-b, ties allowed; ``None`` of fewer than two rows, or where one side is all ties.

    Pairs of the same order less pairs of opposite order, over the root of the pairs without a tie on each side
    (Kendall, 1945). SciPy's is the same, but takes a second to import.
    """
    signs = [np.sign(np.subtract.outer(values, values)) for values in (paper, ours)]
    untied = np.sqrt(np.prod([(sign**2).sum() for sign in signs]))
    return float((signs[0] * signs[1]).sum() / untied) if untied else None


def agreement(paper: Mapping[str, float], ours: Mapping[str, float], hits: Mapping[str, Hits]) -> Agreement:
    """How far our runs agree with a paper on the order of rows.

    An ordering is supported or contradicted where the interval of the paired difference excludes zero; else, or
    without predictions of both rows, it is undecided.

    Args:
        paper: the paper's number of each row.
        ours: our mean, of the rows that were run.
        hits: correctness of each test video, by row and seed.
    """
    rows = [row for row in paper if row in ours]
    tau = kendall_tau([paper[row] for row in rows], [ours[row] for row in rows])
    orderings = []
    for one, other in combinations(rows, 2):
        if paper[one] == paper[other]:
            continue
        better, worse = (one, other) if paper[one] > paper[other] else (other, one)
        both = hits.get(better) and hits.get(worse)
        difference = paired_difference(hits[better], hits[worse]) if both else None
        sign = difference.sign if difference else 0
        verdict: Verdict = "supported" if sign > 0 else "contradicted" if sign < 0 else "undecided"
        orderings.append(Ordering(better, worse, difference, verdict))
    return Agreement(tau, len(rows), orderings)


@dataclass(frozen=True)
class Bins:
    """Videos by confidence: how many, their mean confidence and accuracy (0 to 1, NaN of none), by bin."""

    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def error(self) -> float:
        """Expected calibration error in percent: the mean distance of accuracy from confidence over videos."""
        distance = np.nan_to_num(np.abs(self.accuracy - self.confidence))
        return 100 * float((distance * self.count).sum() / max(self.count.sum(), 1))


def calibration(confidence: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = 15) -> Bins:
    """Bins of equal width over the probability of the predicted class (Guo et al., arXiv:1706.04599).

    Args:
        confidence: probability of the predicted class, ``(videos,)``.
        hits: whether the predicted class is right, ``(videos,)``.
        bins: how many.
    """
    confidence = confidence.astype(np.float64)
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    count = np.bincount(index, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(index, confidence, bins) / count
        accuracy = np.bincount(index, hits, bins) / count
    return Bins(count, mean, accuracy)
