"""Spread of trainings over seeds."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEW_SEEDS = 5  # below this number, a small spread of a row's seeds may be luck


@dataclass(frozen=True)
class Spread:
    """Variance of a mean accuracy over seeds, in squared shares, with its degrees of freedom."""

    variance: float
    freedom: int


def own_spread(means: NDArray[np.float64]) -> Spread | None:
    """Return the spread of a row from its mean accuracy by seed; ``None`` with a single seed."""
    if len(means) < 2:
        return None
    return Spread(float(means.var(ddof=1)), len(means) - 1)


def pooled_spread(rows: Iterable[NDArray[np.float64]]) -> Spread | None:
    """Return the pooled variance over the rows of a table, each row with its mean accuracy by seed.

    The mean of the rows' variances, weighted by their degrees of freedom, as in analysis of variance (Snedecor and
    Cochran, Statistical Methods). ``None`` if no row has two seeds.
    """
    squares = 0.0
    freedom = 0
    for means in rows:
        own = own_spread(means)
        if own:
            squares += own.variance * own.freedom
            freedom += own.freedom
    return Spread(squares / freedom, freedom) if freedom else None


def trusted_spread(means: NDArray[np.float64], pooled: Spread | None) -> Spread | None:
    """Return a row's own spread, or the table's pooled one if that is larger and the row has few seeds.

    Three seeds may end alike by chance: their standard deviation is below half of the true one in 22 % of cases, and
    below a fifth of it in 4 %. A pooled spread that is smaller than the row's own is not used.
    """
    own = own_spread(means)
    if own and pooled and len(means) < FEW_SEEDS and pooled.variance > own.variance:
        return pooled
    return own
