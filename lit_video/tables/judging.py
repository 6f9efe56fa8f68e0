"""Verdicts on a paper's claim by the runs here: whether they can decide it at all, and by which tests they do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

from lit_video.tables.claims import Claim
from lit_video.tables.contrasts import run_contrast, uncovered
from lit_video.tables.statistics import LEVEL, Interval, chances_of_spread, detectable, holm_adjusted
from lit_video.tables.statistics.clusters import FEWEST_CLUSTERS
from lit_video.tables.summary import TableRuns
from lit_video.utils.text import plural

MOSTLY = 0.5  # share of the variance from which on more seeds, rather than more videos, would decide a claim
NEEDS_CONTROL = "needs the control"
TestedJudgement = Literal["supported", "supported by construction", "contradicted", "undecided", "too few to tell"]
# in the order of a summary
Judgement = Literal[TestedJudgement, "unfinished", "suspended", "not testable here", "not run"]


@dataclass(frozen=True)
class Judged:
    """A verdict with its reasons."""

    judgement: Judgement
    why: str = ""  # reason if there is no verdict
    differences: Sequence[Interval | None] = ()  # by tested pair; None if a row was not run
    chance: float = 1.0  # p-value of the claim's verdict, one-sided, corrected for the claim's pairs
    detectable: float = 0.0  # smallest difference in points that every pair shows with 80 % power
    few: str = ""  # "seeds 70 %" if too few seeds make 70 % of the variance, else likewise of videos or persons
    recorded: bool = True  # whether it is known how many training videos the rows had right

    @property
    def tested(self) -> bool:
        """True if all rows were run and can decide the claim."""
        return self.judgement in get_args(TestedJudgement)


def judge(claim: Claim, runs: TableRuns, scale: str = "") -> Judged:
    """Judge a claim by the runs at a scale.

    ``better``: supported if every pair's difference is above 0, contradicted if one is below. ``not_worse``: supported
    if every difference is above minus the margin, contradicted if one is below it (non-inferiority, one-sided).
    ``equal``: supported if every difference is within the margin, contradicted if one is outside (equivalence, two
    one-sided tests; Schuirmann, 1987). Each test is one-sided at 2.5 %; p-values of a claim's pairs are corrected for
    their number (Holm). ``spread``: by chi-square tests of the standard deviation over seeds.
    """
    differences = []
    if claim.kind != "spread":
        differences = [runs.row_hits.difference(*pair) for pair in claim.tested_pairs]

    judgement, why = _no_verdict(claim, runs, scale)
    if judgement:
        return Judged(judgement, why, differences)

    recorded = _is_recorded(claim, runs)
    if claim.kind == "spread":
        return replace(_spread(claim, runs), few="seeds", recorded=recorded)
    tested = [difference for difference in differences if difference]
    return replace(_by_tests(claim, runs, tested), recorded=recorded)


def rows_of(claim: Claim) -> list[str]:
    """Return the rows that a claim compares, with its control."""
    return list(dict.fromkeys(chain.from_iterable(claim.tested_pairs)))


def _no_verdict(claim: Claim, runs: TableRuns, scale: str) -> tuple[Judgement | None, str]:
    """Return the judgement and its reason if the claim has no verdict: rows were not run, or cannot decide it."""
    if why := claim.suspended.get(scale):
        return "suspended", why
    if why := claim.why_untestable(scale):
        return "not testable here", why
    missing = [row for row in rows_of(claim) if row not in runs.hits]
    if missing:
        return "not run", NEEDS_CONTROL if missing == [claim.control] and len(runs.hits) else ""
    for why in (_varies_more(claim, runs), _too_few_draws(runs)):
        if why:
            return "not testable here", why
    if why := _unfinished(claim, runs):
        return "unfinished", why
    return None, ""


def _varies_more(claim: Claim, runs: TableRuns) -> str:
    """Say so if the rows of a pair differ in more than the claim names, or do not differ at all."""
    for first, second in claim.pairs:
        run = runs.first(first)
        other = runs.first(second)
        if claim.kind == "spread" or run is None or other is None:
            continue
        contrast = run_contrast(run, other)
        if not contrast:
            return f"{first} and {second} differ in nothing here"
        if more := uncovered(contrast, claim.varies):
            return f"{first} and {second} also differ in {', '.join(more)}"
    return ""


def _too_few_draws(runs: TableRuns) -> str:
    draws = runs.row_hits.draws
    if draws and draws.count < FEWEST_CLUSTERS:
        return f"{plural(draws.count, draws.kind)} in the test, too few"
    return ""


def _unfinished(claim: Claim, runs: TableRuns) -> str:
    """Name the rows that ended before they had learned their training videos; the control need not learn them."""
    shares = {row: share for row in rows_of(claim) if row != claim.control and (share := runs.unfinished(row))}
    if not shares:
        return ""
    by_row = ", ".join(f"{row} {share.percent:.0f} %" for row, share in shares.items())
    noun = "training clips" if any(share.augmented for share in shares.values()) else "training videos"
    return f"{by_row} of the {noun} right"


def _is_recorded(claim: Claim, runs: TableRuns) -> bool:
    """Return whether it is known of every row how many training videos it had right, where it must learn them."""
    asked = [row for row in rows_of(claim) if row != claim.control and not runs.limits(row).any]
    return all(runs.learned(row) for row in asked)


def _spread(claim: Claim, runs: TableRuns) -> Judged:
    """Judge the standard deviation over seeds of each row."""
    by_row = [runs.row_hits.accuracies(row) for row, _ in claim.pairs]
    if any(len(means) < 2 for means in by_row):
        return Judged("too few to tell")

    chances = [chances_of_spread(means, claim.margin) for means in by_row]
    inside = holm_adjusted([at_least for at_least, _ in chances])
    outside = holm_adjusted([at_most for _, at_most in chances])
    return Judged(_decision(inside, outside) or "too few to tell", chance=_chance(inside, outside))


def _decision(inside: Sequence[float], outside: Sequence[float]) -> Judgement | None:
    """Return what tests decide: one pair lies outside of the claim's bounds, or all lie inside; else ``None``."""
    if min(outside) <= LEVEL:
        return "contradicted"
    return "supported" if max(inside) <= LEVEL else None


def _chance(inside: Sequence[float], outside: Sequence[float]) -> float:
    """Return the p-value of a verdict, whichever side it is on."""
    return min(min(outside), max(inside))


def _by_tests(claim: Claim, runs: TableRuns, differences: Sequence[Interval]) -> Judged:
    """Judge a claim by tests of whether the differences of its pairs lie inside or outside of its bounds."""
    low, high = claim.bounds
    inside = holm_adjusted([max(difference.above(low), difference.below(high)) for difference in differences])
    outside = holm_adjusted([min(difference.below(low), difference.above(high)) for difference in differences])
    shown = max(detectable(difference, len(differences)) for difference in differences)

    judgement = _decision(inside, outside)
    few = ""
    if judgement == "supported" and claim.kind == "better" and _by_construction(claim, runs):
        judgement = "supported by construction"
    if not judgement:
        few = _too_few(runs, max(differences, key=detectable))
        judgement = "too few to tell" if claim.margin and shown > claim.margin else "undecided"

    return Judged(
        judgement,
        differences=differences,
        chance=_chance(inside, outside),
        detectable=shown,
        few=few,
    )


def _by_construction(claim: Claim, runs: TableRuns) -> bool:
    """Return whether every worse row sees less of what the task needs, so that no run was needed to know the result.

    A claim with a separate control is never by construction: its verdict rests on the control.
    """
    if claim.control and claim.control not in {second for _, second in claim.pairs}:
        return False
    return all(runs.limits(second).less_than(runs.limits(first)) for first, second in claim.pairs)


def _too_few(runs: TableRuns, widest: Interval) -> str:
    """Say whether seeds or draws are too few: those that make most of the variance of the least certain difference."""
    if widest.seeds_share >= MOSTLY:
        return f"seeds {100 * widest.seeds_share:.0f} %"
    draws = runs.row_hits.draws
    noun = draws.kind if draws else "video"
    return f"{noun}s {100 * (1 - widest.seeds_share):.0f} %"
