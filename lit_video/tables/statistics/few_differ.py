"""Interval of a difference that is right also if few videos differ, or none."""

import math

import numpy as np
from numpy.typing import NDArray

from lit_video.tables.statistics.clusters import cluster_numbers, effective_draws, video_weights
from lit_video.tables.statistics.intervals import Hits, Interval, paired_difference
from lit_video.tables.statistics.wilson import wilson


def cautious_difference(first: Hits, second: Hits, *, groups: NDArray[np.generic] | None = None) -> Interval:
    """Return the accuracy of one test minus another's, on the same videos, with an interval for few videos.

    If few videos differ, lost and gained ones are seldom equally many, but the interval of
    :func:`~lit_video.tables.statistics.intervals.paired_difference` is symmetric. So it is widened to contain a second
    one, from the shares of draws that are lost and gained (Wilson, 1927; combined as in Newcombe, Statistics in
    Medicine 17, 1998, 873-890). If none of ``n`` draws differs, both reach 3.8 / (``n`` + 3.8): 14 videos without a
    difference still allow a loss of 21 points.

    The arguments are those of :func:`~lit_video.tables.statistics.intervals.paired_difference`.
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
