"""Agreement of two orders of rows."""

from collections.abc import Sequence


def kendall_tau(paper: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; ``None`` for fewer than two rows, or if all values of one side are equal."""
    if min(len(set(paper)), len(set(measured))) < 2:
        return None
    from scipy.stats import kendalltau  # takes a second

    return float(kendalltau(paper, measured).statistic)
