"""Tests of hypotheses: correction for their number, their power, and the test of a spread over seeds."""

import math
from collections.abc import Sequence

import numpy as np

from lit_video.tables.statistics.intervals import LEVEL, Interval

POWER = 0.8  # chance of showing a difference that is there (Cohen, Statistical Power Analysis, 1988)


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


def detectable(interval: Interval, tests: int = 1, level: float = LEVEL) -> float:
    """Return the smallest true difference in points that a one-sided test shows with a chance of ``POWER``.

    The usual approximation for a t-test, ``(t(1 - level) + t(POWER)) * error`` (Chow, Shao and Wang, Sample Size
    Calculations in Clinical Research, 3.2). With many degrees of freedom and a single test, this is
    ``(1.96 + 0.84) / 1.96 = 1.43`` times half the width of a 95 % interval. A true difference of half the width itself
    would be shown by only half of all repeats.

    Args:
        interval: difference with its standard error.
        tests: number of tests that Holm's procedure corrects for; the first one has the level ``level / tests``.
        level: one-sided level of all tests together.
    """
    from scipy.special import stdtrit

    if not interval.bounded:
        return math.inf
    if not interval.error:
        return 0.0
    critical = float(stdtrit(interval.freedom, 1 - level / tests))
    reached = float(stdtrit(interval.freedom, POWER))
    return (critical + reached) * interval.error


def chances_of_spread(means: Sequence[float], bound: float) -> tuple[float, float]:
    """Return the one-sided p-values of two hypotheses on the standard deviation over seeds: at least, and at most.

    The chi-square tests of a normal variance (for example NIST/SEMATECH e-Handbook, 7.2.3.1).

    Args:
        means: a row's accuracy by seed, at least two.
        bound: standard deviation to test against, in the unit of the accuracies.
    """
    from scipy.special import chdtr, chdtrc  # here, because importing it takes 0.15 s

    freedom = len(means) - 1
    squares = freedom * float(np.var(means, ddof=1)) / bound**2
    return float(chdtr(freedom, squares)), float(chdtrc(freedom, squares))
