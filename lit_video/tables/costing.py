"""Verdicts on claims about costs, which need no runs: multiply-adds of the rows as built are counted."""

from collections.abc import Mapping

from lit_video.tables.claims import Claim
from lit_video.tables.comparing import Comparison
from lit_video.tables.judging import Judged, JudgedPair, rows_of

COUNT_FIRST = "needs the count, see lit_video cost"


def judge_costs(claim: Claim, scale: str, gmacs: Mapping[str, float]) -> Judged:
    """Judge a claim of the kind ``cheaper`` by the multiply-adds of a view, 10^9, of its rows at a scale.

    Supported if the first row of every pair needs fewer, else contradicted; by construction, because nothing is
    measured.
    """
    if why := claim.why_untestable(scale):
        return Judged("not testable here", why)
    if not gmacs.keys() >= {*rows_of(claim)}:
        return Judged("not run", COUNT_FIRST)

    pairs = []
    for first, second in claim.pairs:
        counted = (gmacs[first], gmacs[second])
        compared = Comparison(first, second, difference=None, by_construction=True)
        pairs.append(JudgedPair(compared, "holds" if counted[0] < counted[1] else "fails", gmacs=counted))
    holds = all(pair.answer == "holds" for pair in pairs)
    return Judged("supported by construction" if holds else "contradicted by construction", pairs=pairs, chance=0.0)
