"""Verdicts on a paper's claim by the runs here: whether they can decide it at all, and by which tests they do.

Claims about costs need no runs: multiply-adds of the rows as built are counted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from lit_video.tables.claims import Claim
from lit_video.tables.comparing import Comparison, Forbidden, PairAnswer
from lit_video.tables.contrasts import run_contrast
from lit_video.tables.statistics import LEVEL, Interval, chances_of_spread, detectable, holm_adjusted
from lit_video.tables.summary import TableRuns
from lit_video.utils.text import plural

MOSTLY = 0.5  # share of the variance from which on more seeds, rather than more videos, would decide a claim
# an equivalence within N is shown with 80 % power if 1.16 times the detectable difference is at most N: two tests take
# the place of one, (t(97.5 %) + t(90 %)) / (t(97.5 %) + t(80 %))
OF_EQUIVALENCE = 1.16
NEEDS_CONTROL = "needs the control"
COUNT_FIRST = "needs the count, see lit_video cost"
Decided = Literal[
    "supported", "supported by construction", "contradicted", "contradicted by construction", "differ by at most"
]
TestedJudgement = Literal[Decided, "undecided", "too few to tell"]
Judgement = Literal[TestedJudgement, Forbidden]  # in the order of a summary
_Side = Literal["supported", "contradicted"]
_BY_CONSTRUCTION: Mapping[_Side, Decided] = {
    "supported": "supported by construction",
    "contradicted": "contradicted by construction",
}
_Rows = tuple[str, str]
_Chances = Mapping[_Rows, float]  # one-sided p-values by pair


@dataclass(frozen=True)
class Judged:
    """A verdict with its reasons."""

    judgement: Judgement
    why: str = ""  # reason if there is no verdict
    pairs: Sequence[Comparison] = ()  # the claim's, then its first rows with each control
    chance: float = 1.0  # p-value of the claim's verdict, one-sided, corrected for the claim's questions
    detectable: float = 0.0  # smallest difference in points that every pair shows with 80 % power
    few: str = ""  # too few of what: seeds, videos, persons
    few_share: float = 0.0  # share of the variance that these make, 0 to 1
    recorded: bool = True  # whether it is known how many training videos the rows had right

    @property
    def tested(self) -> bool:
        """True if all rows were run and can decide the claim."""
        return self.judgement in get_args(TestedJudgement)

    @property
    def words(self) -> str:
        """The judgement, with what is too few, or within how many points rows differ."""
        if self.judgement == "too few to tell":
            return f"too few {self.few} to tell"
        if self.judgement == "differ by at most":
            return f"differ by at most {plural(max(pair.alike or 0.0 for pair in self.pairs), 'point')}"
        return self.judgement


def judge(claim: Claim, runs: TableRuns) -> Judged:
    """Judge a claim by the runs of its table at their scale.

    ``better``: supported if every pair's difference is above 0, contradicted if one is below. ``not_worse``: supported
    if every difference is above minus the margin, contradicted if one is below it (non-inferiority, one-sided).
    ``equal``: supported if every difference is within the margin, contradicted if one is outside (equivalence, two
    one-sided tests; Schuirmann, 1987). Each test is one-sided at 2.5 %; p-values of a claim's questions are corrected
    for their number (Holm). A claim of the kind ``better`` that is neither is asked whether its rows differ by at most
    half of the paper's difference. ``spread``: by chi-square tests of the standard deviation over seeds.

    Each gain over a control is also asked for above the other controls of the table whose multiply-adds differ by at
    most a tenth. Pairs that are decided by construction decide nothing, unless all are.
    """
    compared = [runs.compare(*pair) for pair in _compared_pairs(claim, runs)]
    refusal, why = _refusal(claim, runs, compared)
    if refusal:
        return Judged(refusal, why, pairs=[] if claim.kind == "spread" else compared)

    recorded = all(runs.rows[row].is_recorded for row in rows_of(claim))
    if claim.kind == "spread":
        chances = [chances_of_spread(runs.row_hits.accuracies(row), claim.margin) for row, _ in claim.pairs]
        at_least, at_most = zip(*chances, strict=True)
        decision, chance = _decide(holm_adjusted(at_least), holm_adjusted(at_most))
        return Judged(decision or "too few to tell", chance=chance, few="seeds", recorded=recorded)

    by_construction = all(pair.by_construction for pair in compared)
    asked = [pair for pair in compared if pair.by_construction == by_construction]
    differences = {pair.rows: pair.difference for pair in asked if pair.difference}
    inside, outside, alike = _of_differences(claim, differences)

    pairs = []
    for pair in compared:
        answer: PairAnswer | None = None
        if pair.rows in differences:
            fails = outside[pair.rows] <= LEVEL
            answer = "holds" if inside[pair.rows] <= LEVEL else "fails" if fails else "undecided"
        is_alike = alike.get(pair.rows, 1.0) <= LEVEL
        pairs.append(replace(pair, answer=answer, alike=claim.alike(pair.rows) if is_alike else None))

    decision, chance = _decide(inside.values(), outside.values())
    shown = max(detectable(difference, len(differences)) for difference in differences.values())
    judged = Judged("undecided", pairs=pairs, chance=chance, detectable=shown, recorded=recorded)
    if decision:
        return replace(judged, judgement=_BY_CONSTRUCTION[decision] if by_construction else decision)
    if alike.keys() == differences.keys() and max(alike.values()) <= LEVEL:
        return replace(judged, judgement="differ by at most", chance=max(alike.values()))

    # seeds or draws, whichever make most of the variance of the least certain difference
    few = "seeds"
    share = max(differences.values(), key=detectable).seeds_share
    if share < MOSTLY:
        draws = runs.row_hits.draws
        few = f"{draws.kind if draws else 'video'}s"
        share = 1 - share
    too_few = claim.margin and shown > claim.margin
    return replace(judged, judgement="too few to tell" if too_few else "undecided", few=few, few_share=share)


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
        answer: PairAnswer = "holds" if gmacs[first] < gmacs[second] else "fails"
        counted = (gmacs[first], gmacs[second])
        pairs.append(Comparison(first, second, None, by_construction=True, answer=answer, gmacs=counted))
    holds = all(pair.answer == "holds" for pair in pairs)
    return Judged("supported by construction" if holds else "contradicted by construction", pairs=pairs, chance=0.0)


def rows_of(claim: Claim) -> list[str]:
    """Return the rows that a claim compares, with its control."""
    rows = [row for pair in claim.pairs for row in pair]
    return list(dict.fromkeys(filter(None, [*rows, claim.control])))


def _compared_pairs(claim: Claim, runs: TableRuns) -> list[tuple[str, str]]:
    """Return the claim's pairs; if it has a control, also its first rows with it, and with others of as many GMACs."""
    pairs = [*claim.pairs]
    for first, _ in claim.pairs if claim.control else ():
        row = runs.rows[first]
        alike = [other.name for other in runs.rows.values() if other.is_control and row.needs_as_much_as(other)]
        pairs += [(first, control) for control in (claim.control, *alike)]
    return list(dict.fromkeys(pairs))


def _refusal(claim: Claim, runs: TableRuns, compared: Sequence[Comparison]) -> tuple[Judgement | None, str]:
    """Return why the claim has no verdict, and the reason in words: rows were not run, or cannot decide it."""
    if why := claim.why_untestable(runs.table.scale):
        return "not testable here", why
    controls = runs.table.controls | {claim.control} if claim.control else set()
    missing = {*rows_of(claim), *controls} - runs.row_hits.hits.keys()
    if missing:
        return "not run", NEEDS_CONTROL if missing <= controls and len(runs.row_hits.hits) else ""
    if why := claim.why_not_compared(lambda *pair: run_contrast(*(runs.by_row[row][0] for row in pair)) or None):
        return "not testable here", why

    for forbidden in get_args(Forbidden):
        without = [pair for pair in compared if pair.forbidden == forbidden]
        if without:
            return forbidden, "; ".join(dict.fromkeys(why for pair in without for why in pair.why))
    return None, ""


def _of_differences(claim: Claim, differences: Mapping[_Rows, Interval]) -> tuple[_Chances, _Chances, _Chances]:
    """Return p-values by pair: its difference lies inside of the claim's bounds, outside, and its rows are alike.

    The last is only asked where the runs would show it: of two rows without any difference with 80 % power.
    """
    low, high = claim.bounds
    inside = {}
    outside = {}
    alike = {}
    for rows, difference in differences.items():
        inside[rows] = max(difference.above(low), difference.below(high))
        outside[rows] = min(difference.below(low), difference.above(high))
        points = claim.alike(rows)
        if points and OF_EQUIVALENCE * detectable(difference, len(differences)) <= points:
            alike[rows] = max(difference.above(-points), difference.below(points))

    either = map(min, inside.values(), outside.values())
    return _corrected(inside, alike.values()), _corrected(outside, alike.values()), _corrected(alike, either)


def _corrected(chances: _Chances, further: Iterable[float]) -> _Chances:
    """Correct p-values by pair for the number of a claim's questions (Holm), with those that are asked further."""
    return dict(zip(chances, holm_adjusted([*chances.values(), *further]), strict=False))


def _decide(inside: Collection[float], outside: Collection[float]) -> tuple[_Side | None, float]:
    """Return what tests decide, with its p-value: one pair lies outside of the claim's bounds, or all lie inside."""
    fails = min(outside)
    holds = max(inside)
    side: _Side | None = "supported" if holds <= LEVEL else None
    return "contradicted" if fails <= LEVEL else side, min(fails, holds)
