"""The order of a table's rows in our runs: agreement with the paper, paired differences."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, get_args

from lit_video.settings.effects import picked
from lit_video.tables.comparing import Comparison, Forbidden
from lit_video.tables.statistics import LEVEL, holm_adjusted

Accuracies = Mapping[str, float]  # by row
OrderVerdict = Literal["supported", "contradicted", "undecided", "by construction", Forbidden]
WITHOUT: tuple[OrderVerdict, ...] = ("by construction", *get_args(Forbidden))  # pairs that have no verdict by a test


@dataclass(frozen=True)
class Pair:
    """Two rows that were run; ``first`` is the one that the paper puts higher, or our runs if the paper orders neither.

    Differences are ``first`` minus ``second``, in points.
    """

    first: str
    second: str
    paper: float | None = None  # the paper's difference
    verdict: OrderVerdict | None = None  # on the paper's order; None if the paper has none
    difference: float | None = None  # our paired difference; None without predictions
    low: float | None = None  # interval of our difference; None without one
    high: float | None = None
    skills: Sequence[str] = ()  # skills that both rows can tell; empty if these are all but the lesson's
    lesson: Sequence[str] = ()  # skills of the rows' first lessons, which are left out


@dataclass(frozen=True)
class Agreement:
    """Agreement of our runs with the paper's order of the rows."""

    tau: float | None  # Kendall's tau
    rows: int  # rows that both have
    supported: int
    contradicted: int
    undecided: int
    without: Mapping[str, int]  # orderings that have no verdict, by why
    orderings: Sequence[Pair]  # pairs that the paper orders


def row_pairs(paper: Accuracies, measured: Accuracies, compare: Callable[[str, str], Comparison]) -> list[Pair]:
    """Return the pairs of rows that were run, with the verdicts on the paper's order, as far as ``compare`` allows any.

    Verdicts are corrected for the number of pairs that the paper orders (Holm). Pairs without a verdict count in this
    number, because what keeps them from one was seen in the runs.
    """
    pairs: list[Pair] = []
    tested = {}
    for name, other_name in combinations(measured, 2):
        both = name in paper and other_name in paper
        ordered = both and paper[name] != paper[other_name]
        order = paper if ordered else measured
        # two rows with equal numbers keep their order
        first, second = sorted((name, other_name), key=lambda row: order[row], reverse=True)

        comparison = compare(first, second)
        difference = comparison.difference
        before_test: OrderVerdict = "by construction" if comparison.by_construction else "undecided"
        pair = Pair(
            first=first,
            second=second,
            paper=paper[first] - paper[second] if both else None,
            verdict=(comparison.forbidden or before_test) if ordered else None,
            difference=difference.value if difference else None,
            low=difference.low if difference and difference.bounded else None,
            high=difference.high if difference and difference.bounded else None,
            skills=comparison.skills,
            lesson=comparison.lesson,
        )
        if ordered and difference:
            tested[len(pairs)] = difference
        pairs.append(pair)

    chances = holm_adjusted([min(difference.above(0), difference.below(0)) for difference in tested.values()])
    for (number, difference), chance in zip(tested.items(), chances, strict=True):
        if chance <= LEVEL and pairs[number].verdict == "undecided":
            verdict: OrderVerdict = "supported" if difference.value > 0 else "contradicted"
            pairs[number] = replace(pairs[number], verdict=verdict)
    return pairs


def agreement_of(paper: Accuracies, measured: Accuracies, pairs: Sequence[Pair]) -> Agreement:
    """Return Kendall's tau between the paper and our runs, and counts of the verdicts on the paper's orderings."""
    both = picked(measured, paper)
    orderings = [pair for pair in pairs if pair.verdict]
    counts = Counter(pair.verdict for pair in orderings)
    return Agreement(
        tau=kendall_tau([*picked(paper, both).values()], [*both.values()]),
        rows=len(both),
        supported=counts["supported"],
        contradicted=counts["contradicted"],
        undecided=counts["undecided"],
        without={verdict: counts[verdict] for verdict in WITHOUT if counts[verdict]},
        orderings=orderings,
    )


def kendall_tau(paper: Sequence[float], measured: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; ``None`` for fewer than two rows, or if all values of one side are equal."""
    if min(len(set(paper)), len(set(measured))) < 2:
        return None
    from scipy.stats import kendalltau  # takes a second

    return float(kendalltau(paper, measured).statistic)
