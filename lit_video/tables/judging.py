"""Verdicts on a paper's claim by the runs here: whether they can decide it at all, and by which tests they do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from lit_video.tables.claims import Claim
from lit_video.tables.comparing import Comparison, on_skills
from lit_video.tables.contrasts import run_contrast
from lit_video.tables.statistics import LEVEL, Interval, chances_of_spread, detectable, holm_adjusted
from lit_video.tables.summary import TableRuns
from lit_video.tables.table_summary import Forbidden
from lit_video.utils.text import plural

MOSTLY = 0.5  # share of the variance from which on more seeds, rather than more videos, would decide a claim
# an equivalence within N is shown with 80 % power if 1.16 times the detectable difference is at most N: two tests take
# the place of one, (t(97.5 %) + t(90 %)) / (t(97.5 %) + t(80 %))
OF_EQUIVALENCE = 1.16
NEEDS_CONTROL = "needs the control"
Decided = Literal[
    "supported", "supported by construction", "contradicted", "contradicted by construction", "differ by at most"
]
TestedJudgement = Literal[Decided, "undecided", "too few to tell"]
Judgement = Literal[TestedJudgement, Forbidden]  # in the order of a summary
PairAnswer = Literal["holds", "fails", "undecided"]


@dataclass(frozen=True)
class JudgedPair:
    """Two rows of a claim: their difference, and what tests say of it."""

    compared: Comparison
    answer: PairAnswer | None = None  # left out without a test
    alike: float | None = None  # points within which the rows are shown to differ

    @property
    def difference(self) -> Interval | None:
        """The first row minus the second, in points."""
        return self.compared.difference

    @property
    def text(self) -> str:
        """The difference with its interval, and the skills that it is over; empty without one."""
        return f"{self.difference}{on_skills(self.compared.skills)}" if self.difference else ""

    @property
    def words(self) -> str:
        """The answer in words, such as ``holds, by at most 5 points``; empty without a test."""
        if self.alike is None:
            return self.answer or ""
        within = f"by at most {plural(self.alike, 'point')}"
        return f"differ {within}" if self.answer == "undecided" else f"{self.answer}, {within}"


@dataclass(frozen=True)
class Judged:
    """A verdict with its reasons."""

    judgement: Judgement
    why: str = ""  # reason if there is no verdict
    pairs: Sequence[JudgedPair] = ()  # the claim's, then its first rows with each control
    chance: float = 1.0  # p-value of the claim's verdict, one-sided, corrected for the claim's questions
    detectable: float = 0.0  # smallest difference in points that every pair shows with 80 % power
    few: str = ""  # "seeds 70 %" if too few seeds make 70 % of the variance, else likewise of videos or persons
    recorded: bool = True  # whether it is known how many training videos the rows had right

    @property
    def tested(self) -> bool:
        """True if all rows were run and can decide the claim."""
        return self.judgement in get_args(TestedJudgement)

    @property
    def decided(self) -> bool:
        """True if the claim is supported or contradicted, or its rows differ by at most a number of points."""
        return self.judgement in get_args(Decided)

    @property
    def alike(self) -> float:
        """Points within which every pair's rows are shown to differ; 0 where one pair's are not."""
        within = [pair.alike for pair in self.pairs]
        return max((points for points in within if points), default=0.0) if all(within) else 0.0


def judge(claim: Claim, runs: TableRuns, scale: str = "") -> Judged:
    """Judge a claim by the runs at a scale.

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
    pairs = [] if claim.kind == "spread" else list(map(JudgedPair, compared))

    judgement, why = _no_verdict(claim, runs, scale, compared=compared)
    if judgement:
        return Judged(judgement, why, pairs)

    recorded = all(runs.rows[row].is_recorded for row in rows_of(claim))
    if claim.kind == "spread":
        return replace(_spread(claim, runs), few="seeds", recorded=recorded)
    return replace(_by_tests(claim, runs, compared), recorded=recorded)


def rows_of(claim: Claim) -> list[str]:
    """Return the rows that a claim compares, with its control."""
    rows = [row for pair in claim.pairs for row in pair]
    return list(dict.fromkeys(filter(None, [*rows, claim.control])))


def _compared_pairs(claim: Claim, runs: TableRuns) -> list[tuple[str, str]]:
    """Return the claim's pairs; if it has a control, also its first rows with it, and with others of as many GMACs."""
    pairs = [*claim.pairs]
    for first, _ in claim.pairs if claim.control else ():
        row = runs.rows[first]
        pairs.append((first, claim.control))
        pairs += [
            (first, other.name) for other in runs.rows.values() if other.is_control and row.needs_as_much_as(other)
        ]
    return list(dict.fromkeys(pairs))


def _no_verdict(
    claim: Claim, runs: TableRuns, scale: str, *, compared: Sequence[Comparison]
) -> tuple[Judgement | None, str]:
    """Return the judgement and its reason if the claim has no verdict: rows were not run, or cannot decide it."""
    if why := claim.why_untestable(scale):
        return "not testable here", why
    controls = runs.table.controls | {claim.control} if claim.control else set()
    missing = {*rows_of(claim), *controls} - runs.hits.keys()
    if missing:
        return "not run", NEEDS_CONTROL if missing <= controls and len(runs.hits) else ""
    if why := _varies_more(claim, runs):
        return "not testable here", why

    for forbidden in get_args(Forbidden):
        without = [pair for pair in compared if pair.forbidden == forbidden]
        if without:
            return forbidden, "; ".join(dict.fromkeys(why for pair in without for why in pair.why))
    return None, ""


def _varies_more(claim: Claim, runs: TableRuns) -> str:
    """Say so if the runs of a pair differ in more than the claim names, or in nothing."""
    for pair in claim.pairs if claim.kind != "spread" else ():
        first, second = (runs.rows[row].first for row in pair)
        if first and second and (why := claim.why_not_compared(pair, run_contrast(first, second) or None)):
            return why
    return ""


def _spread(claim: Claim, runs: TableRuns) -> Judged:
    """Judge the standard deviation over seeds of each row."""
    chances = [chances_of_spread(runs.row_hits.accuracies(row), claim.margin) for row, _ in claim.pairs]
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


def _by_tests(claim: Claim, runs: TableRuns, compared: Sequence[Comparison]) -> Judged:
    """Judge a claim by tests of whether the differences of its pairs lie inside or outside of its bounds."""
    by_construction = all(pair.by_construction for pair in compared)
    tested = [pair for pair in compared if by_construction or not pair.by_construction]
    differences = [pair.difference for pair in tested if pair.difference]
    low, high = claim.bounds
    inside = [max(difference.above(low), difference.below(high)) for difference in differences]
    outside = [min(difference.below(low), difference.above(high)) for difference in differences]
    alike = _alike(claim, tested, differences)

    # every question is a hypothesis: whether a pair is inside of the bounds, outside, or alike
    of_alike = [chance for _, chance in alike.values()]
    adjusted_inside = holm_adjusted([*inside, *of_alike])[: len(inside)]
    adjusted_outside = holm_adjusted([*outside, *of_alike])[: len(outside)]
    either = list(map(min, inside, outside))
    adjusted_alike = dict(zip(alike, holm_adjusted([*either, *of_alike])[len(either) :], strict=True))

    answers: dict[tuple[str, str], JudgedPair] = {}
    for number, pair in enumerate(tested):
        answer: PairAnswer = "undecided"
        if adjusted_inside[number] <= LEVEL:
            answer = "holds"
        elif adjusted_outside[number] <= LEVEL:
            answer = "fails"
        is_alike = adjusted_alike.get(number, 1.0) <= LEVEL
        answers[pair.rows] = JudgedPair(pair, answer, alike[number][0] if is_alike else None)
    pairs = [answers.get(pair.rows, JudgedPair(pair)) for pair in compared]

    judgement = _decision(adjusted_inside, adjusted_outside)
    chance = _chance(adjusted_inside, adjusted_outside)
    shown = max(detectable(difference, len(differences)) for difference in differences)
    few = ""
    if judgement and by_construction:
        judgement = "supported by construction" if judgement == "supported" else "contradicted by construction"
    elif not judgement and all(pair.alike for pair in answers.values()):
        judgement = "differ by at most"
        chance = max(adjusted_alike.values())
    elif not judgement:
        few = _too_few(runs, max(differences, key=detectable))
        judgement = "too few to tell" if claim.margin and shown > claim.margin else "undecided"
    return Judged(judgement, pairs=pairs, chance=chance, detectable=shown, few=few)


def _alike(
    claim: Claim, tested: Sequence[Comparison], differences: Sequence[Interval]
) -> dict[int, tuple[float, float]]:
    """Return the points within which pairs may be alike, with the p-value of that, by number of the pair.

    This is only asked where the runs would show it: of two rows without any difference with 80 % power.
    """
    asked = {}
    for number, (pair, difference) in enumerate(zip(tested, differences, strict=True)):
        points = claim.alike((pair.first, pair.second))
        if points and OF_EQUIVALENCE * detectable(difference, len(differences)) <= points:
            asked[number] = (points, max(difference.above(-points), difference.below(points)))
    return asked


def _too_few(runs: TableRuns, widest: Interval) -> str:
    """Say whether seeds or draws are too few: those that make most of the variance of the least certain difference."""
    if widest.seeds_share >= MOSTLY:
        return f"seeds {100 * widest.seeds_share:.0f} %"
    draws = runs.row_hits.draws
    noun = draws.kind if draws else "video"
    return f"{noun}s {100 * (1 - widest.seeds_share):.0f} %"
