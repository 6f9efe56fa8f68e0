"""Power of a comparison: the smallest difference that it can show."""

import math

from lit_video.tables.statistics.intervals import Interval
from lit_video.tables.statistics.levels import LEVEL

POWER = 0.8  # chance of showing a difference that is there (Cohen, Statistical Power Analysis, 1988)


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
