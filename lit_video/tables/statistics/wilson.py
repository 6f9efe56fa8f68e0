"""Wilson's interval of a share."""

import math

from lit_video.tables.statistics.levels import CONFIDENCE


def wilson(share: float, count: float) -> tuple[float, float]:
    """Return the interval of a share of ``count`` draws (Wilson, 1927)."""
    from scipy.special import ndtri  # here, because importing it takes 0.15 s

    share = min(max(share, 0.0), 1.0)  # sums of weights may leave the range by rounding
    quantile = float(ndtri((1 + CONFIDENCE) / 2))
    scale = 1 + quantile**2 / count
    centre = (share + quantile**2 / (2 * count)) / scale
    half = quantile / scale * math.sqrt(share * (1 - share) / count + quantile**2 / (4 * count**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)
