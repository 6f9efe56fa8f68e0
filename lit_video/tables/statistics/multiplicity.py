"""Correction of several tests at once."""

from collections.abc import Sequence

import numpy as np

from lit_video.tables.statistics.intervals import LEVEL


def holm_adjusted(chances: Sequence[float]) -> list[float]:
    """Return adjusted p-values by Holm's step-down procedure, in the order given.

    Rejecting the null hypotheses whose adjusted p-value is at most a level keeps the chance of any wrong rejection
    below that level, whatever the dependence of the tests, for example of claims that share runs (Holm, 1979).
    """
    adjusted = [1.0] * len(chances)
    largest = 0.0
    for rank, index in enumerate(np.argsort(chances, kind="stable")):
        remaining = len(chances) - rank
        largest = max(largest, min(1.0, remaining * chances[index]))
        adjusted[index] = largest
    return adjusted


def holm(chances: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which null hypotheses are rejected, at a family-wise error of at most ``level`` (Holm, 1979)."""
    return [adjusted <= level for adjusted in holm_adjusted(chances)]
