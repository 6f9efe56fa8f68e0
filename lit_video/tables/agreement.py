"""The order of a table's rows in our runs: agreement with the paper, paired differences."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import get_args

from lit_video.settings.effects import picked
from lit_video.tables.comparing import ONE_SEED, Comparison, on_skills
from lit_video.tables.statistics import LEVEL, Interval, holm_adjusted
from lit_video.tables.table_summary import (
    Agreement,
    DrawCount,
    Forbidden,
    OrderVerdict,
    Pair,
    RowSummary,
    TableSummary,
)
from lit_video.utils.text import plural

Accuracies = Mapping[str, float]  # by row
UNDECIDED: OrderVerdict = "undecided"
BY_CONSTRUCTION: OrderVerdict = "by construction"
WITHOUT: tuple[OrderVerdict, ...] = (BY_CONSTRUCTION, *get_args(Forbidden))  # pairs that have no verdict by a test

ONE_SEED_ONLY = "One seed gives numbers and no order: add --seeds 0,1,2"


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
        by_no_test = comparison.forbidden or (BY_CONSTRUCTION if comparison.by_construction else UNDECIDED)
        pair = Pair(
            first=first,
            second=second,
            paper=paper[first] - paper[second] if both else None,
            verdict=by_no_test if ordered else None,
            difference=difference.value if difference else None,
            low=difference.low if difference and difference.bounded else None,
            high=difference.high if difference and difference.bounded else None,
            skills=comparison.skills,
        )
        if ordered and difference:
            tested[len(pairs)] = difference
        pairs.append(pair)

    chances = holm_adjusted([min(difference.above(0), difference.below(0)) for difference in tested.values()])
    for (number, difference), chance in zip(tested.items(), chances, strict=True):
        if chance <= LEVEL and pairs[number].verdict == UNDECIDED:
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


def sentences(summary: TableSummary) -> list[str]:
    """Say how far our runs agree with the paper; nothing if the paper orders no rows, one line if all have one seed."""
    result = summary.agreement
    if not result.orderings:
        return []
    if result.without.get(ONE_SEED) == len(result.orderings):
        return [f"{ONE_SEED_ONLY}."]

    tau = "undefined" if result.tau is None else f"{result.tau:+z.2f}"
    without = "".join(f"; {number} more {verdict}" for verdict, number in result.without.items())
    lines = [
        f"Order of {result.rows} rows against the paper: Kendall's tau {tau}. Of its {len(result.orderings)} "
        f"orderings of two rows, all tested at once (Holm), our runs support {result.supported}, contradict "
        f"{result.contradicted} and leave {result.undecided} undecided{without}, by {certainty(summary)}."
    ]

    labels = summary.labels
    for verdict in ("contradicted", "undecided", *WITHOUT):
        texts = []
        for pair in result.orderings:
            if pair.verdict == verdict:
                texts.append(f"{labels[pair.first]} > {labels[pair.second]} ({interval_text(pair)})")
        if texts:
            lines.append(f"{verdict}: {'; '.join(texts)}")
    return lines


def certainty(summary: TableSummary) -> str:
    """Say what the intervals cover, what a single seed does not tell, and whether rows have different seeds."""
    rows = [row for row in summary.rows if row.seeds]
    once = [row.label for row in rows if len(row.seeds) == 1]
    videos = f"test videos{_draws_in_words(summary.draws)}"

    if not once:
        return f"95 % intervals over {videos} and seeds{_unequal(rows)}"
    if len(once) == len(rows):
        return f"95 % intervals over {videos}. {ONE_SEED_ONLY}"
    advice = f"Rows of one seed ({', '.join(once)}) are compared as models, not as methods: add --seeds 0,1,2"
    return f"95 % intervals over {videos}, and over seeds in rows of several{_unequal(rows)}. {advice}"


def _draws_in_words(draws: DrawCount | None) -> str:
    """Say how many independent draws the test videos are, if fewer than the videos."""
    return f" ({plural(draws.count, draws.kind)}, each one draw)" if draws else ""


def _unequal(rows: Sequence[RowSummary]) -> str:
    """Say so if rows have different seeds, because seeds may then have been added after a look at the results."""
    choices = {tuple(row.seeds) for row in rows}
    if len(choices) < 2:
        return ""

    counts = [len(seeds) for seeds in choices]
    number = str(min(counts))
    if max(counts) > min(counts):
        number += f" to {max(counts)}"
    return f"; rows have different seeds ({number} each), so not all were fixed before looking"


def interval_text(pair: Pair) -> str:
    """Return a difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    if pair.difference is None:
        return "not comparable: needs top-1 predictions of both for the same test videos"
    low, high = (math.inf if end is None else end for end in (pair.low, pair.high))
    return f"{Interval(pair.difference, low, high)}{on_skills(pair.skills)}"
