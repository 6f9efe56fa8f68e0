"""Interval of an accuracy over test videos, of which several may be one draw."""

import math

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import FEWEST_CLUSTERS, cluster_numbers, squared_error
from lit_video.tables.statistics.intervals import CONFIDENCE, Interval
from lit_video.tables.statistics.wilson import wilson


def accuracy_interval(hits: NDArray[np.bool_], *, groups: NDArray[np.generic] | None = None) -> Interval:
    """Return an accuracy in percent with its interval, that of Wilson for the effective number of videos.

    Args:
        hits: whether each video is right, ``(videos,)``.
        groups: cluster of each video; ``None``: each is its own. Below three clusters there is no interval.
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
    """Return a one-sided p-value, small where the true share is above ``share`` (score test)."""
    from scipy.special import ndtr  # here, because importing it takes 0.15 s

    error = math.sqrt(share * (1 - share) / effective_count(hits, groups))
    return float(ndtr((share - float(hits.mean())) / error))


def effective_count(hits: NDArray[np.bool_], groups: NDArray[np.generic]) -> float:
    """Return the number of independent videos whose share of hits is as uncertain as that of these videos.

    The number of videos divided by the design effect of the clusters, which is at least 1, times ``(z / t)**2`` for the
    few clusters that give it (Korn and Graubard, Survey Methodology 24, 1998; Dean and Pagano, Journal of Survey
    Statistics and Methodology 3, 2015). If all videos are right, or none is, nothing tells how alike the videos of
    a cluster are, so clusters are counted; those of unlike sizes count for less (Kish, 1965).
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
