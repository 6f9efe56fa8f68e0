"""Clusters of test videos: videos of one person or recording, or a video and its reverse, are one draw."""

import math

import numpy as np
from numpy.typing import NDArray

FEWEST_CLUSTERS = 3  # below this number of clusters there is no interval
ENOUGH_CLUSTERS = 6  # from this number on, all videos have the same weight; below, all clusters have the same


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
