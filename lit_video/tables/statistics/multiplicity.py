"""Correction of p-values for the number of tests."""

from collections.abc import Sequence

import numpy as np


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
