"""Interval of an accuracy over test videos, if several videos may be one draw."""

import math

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import FEWEST_CLUSTERS, cluster_numbers, squared_error
from lit_video.tables.statistics.intervals import Interval
from lit_video.tables.statistics.levels import CONFIDENCE
from lit_video.tables.statistics.wilson import wilson


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
