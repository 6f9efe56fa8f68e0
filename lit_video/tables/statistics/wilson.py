"""Interval of a share, and of the accuracy of one test whose videos come in pairs or other clusters."""

import math

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import cluster_numbers, squared_error
from lit_video.tables.statistics.intervals import CONFIDENCE, Interval


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return the interval of a share of ``count`` draws (Wilson, 1927)."""
    from scipy.special import ndtri  # here, because importing it takes 0.15 s

    share = min(max(share, 0.0), 1.0)  # sums of weights may leave the range by rounding
    quantile = float(ndtri((1 + CONFIDENCE) / 2))
    scale = 1 + quantile**2 / count
    centre = (share + quantile**2 / (2 * count)) / scale
    half = quantile / scale * math.sqrt(share * (1 - share) / count + quantile**2 / (4 * count**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def share_interval(hits: NDArray[np.bool_], groups: NDArray[np.generic]) -> Interval:
    """Return the share of hits in percent with an interval; videos of one group are one draw.

    Wilson's interval for the effective number of videos, see :func:`effective_count`.
    """
    count = effective_count(hits, groups)
    share = float(hits.mean())
    low, high = wilson(share, count)
    error = math.sqrt(share * (1 - share) / count)
    return Interval(100 * share, 100 * low, 100 * high, 100 * error)


def chance_of_share(hits: NDArray[np.bool_], groups: NDArray[np.generic], share: float) -> float:
    """Return a one-sided p-value, small where the true share is above ``share`` (score test, as in :func:`wilson`)."""
    from scipy.special import ndtr  # here, because importing it takes 0.15 s

    error = math.sqrt(share * (1 - share) / effective_count(hits, groups))
    return float(ndtr((share - float(hits.mean())) / error))


def effective_count(hits: NDArray[np.bool_], groups: NDArray[np.generic]) -> float:
    """Return the number of independent videos whose share of hits is as uncertain as that of these videos.

    The number of videos divided by the design effect, the variance over groups relative to that of independent videos
    (Kish, 1965). The effect is at least 1, so pairs of which exactly one is right count as two videos and no
    more; where all videos are right or all wrong, each group counts once.
    """
    clusters = cluster_numbers(groups, len(hits))
    values = hits.astype(np.float64)
    count = len(values)
    share = float(values.mean())
    largest = float(np.bincount(clusters).max())

    independent = share * (1 - share) / count
    if not independent or not clusters.max():
        return count / largest
    clustered = squared_error(values, clusters, np.full(count, 1 / count))
    return count / min(max(clustered / independent, 1.0), largest)
