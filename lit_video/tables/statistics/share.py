"""Interval of an accuracy over test videos, of which several may be one draw."""

import math

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import FEWEST_CLUSTERS, cluster_numbers, squared_error
from lit_video.tables.statistics.few_differ import wilson
from lit_video.tables.statistics.intervals import CONFIDENCE, Interval


def accuracy_interval(hits: NDArray[np.bool_], *, groups: NDArray[np.generic] | None = None) -> Interval:
    """Return an accuracy in percent with its interval.

    Wilson's interval (1927) of the effective number of videos: their number divided by the design effect of the
    clusters, times ``(z / t)**2`` for the few clusters that give it (Korn and Graubard, Survey Methodology 24, 1998;
    Dean and Pagano, Journal of Survey Statistics and Methodology 3, 2015). It is never narrower than the interval that
    counts videos. If all videos are right, or none is, nothing tells how alike the videos of a cluster are, so clusters
    are counted.

    Args:
        hits: whether each video is right, ``(videos,)``.
        groups: cluster of each video; ``None``: each is its own.
    """
    videos = len(hits)
    share = float(hits.mean())
    clusters = cluster_numbers(groups, videos)
    count = int(clusters.max()) + 1
    if groups is None:
        effective = float(videos)
    elif count < FEWEST_CLUSTERS:
        return Interval(100 * share, -math.inf, math.inf, math.inf)
    else:
        effective = _effective_videos(hits.astype(np.float64), clusters, count)

    low, high = wilson(share, effective)
    return Interval(100 * share, 100 * low, 100 * high)


def _effective_videos(values: NDArray[np.float64], clusters: NDArray[np.intp], count: int) -> float:
    """Return the number of independent videos that tell as much as these; ``count`` clusters."""
    from scipy.special import ndtri, stdtrit  # here, because importing it takes 0.15 s

    videos = len(values)
    variance_of_one = float(values.var())
    if not variance_of_one:
        sizes = np.bincount(clusters)
        return videos**2 / float(np.square(sizes).sum())  # clusters of unlike sizes (Kish, 1965)

    equal_weights = np.full(videos, 1 / videos)
    variance = squared_error(values, clusters, equal_weights)
    effective = float(videos)
    if variance:
        effective = min(effective, variance_of_one / variance)
    level = (1 + CONFIDENCE) / 2
    return effective * float(ndtri(level) / stdtrit(count - 1, level)) ** 2
