"""The order of a table's rows in our runs: agreement with the paper, paired differences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np

from lit_video.runs.finished import FinishedRun
from lit_video.runs.predictions import DIRECTION, Predictions, read_predictions
from lit_video.settings.effects import picked
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import LEVEL, Interval, holm_adjusted, kendall_tau
from lit_video.tables.table import Table
from lit_video.tables.table_summary import Agreement, DrawCount, Pair, RowSummary, TableSummary, Verdict
from lit_video.utils.text import plural

Accuracies = Mapping[str, float]  # by row
UNDECIDED: Verdict = "undecided"

ONE_SEED = "One seed compares these models, not the methods: add --seeds 0,1,2"


def row_predictions(table: Table, runs: Mapping[str, Sequence[FinishedRun]]) -> dict[str, list[Predictions]]:
    """Return predictions by row and seed; leave out rows without them, or of other test videos than the first."""
    by_row: dict[str, list[Predictions]] = {}
    first: Predictions | None = None
    for row in table.rows:
        of_seeds = runs[row.name]
        kept = []
        for run in of_seeds:
            predictions = read_predictions(run.folder, run.result)
            if predictions:
                kept.append(predictions)
        if kept and len(kept) == len(of_seeds):
            first = first or kept[0]
            if all(_same_test(one, first) for one in kept):
                by_row[row.name] = kept
    return by_row


def compared_metric(by_row: Mapping[str, Sequence[Predictions]], metric: str) -> str:
    """Return the metric by which rows are compared: the direction where every run tells directions, else ``metric``.

    Top-1 over classes of skill and direction would mix two abilities: recognising the skill needs no order of frames.
    """
    runs = [run for seeds in by_row.values() for run in seeds]
    return DIRECTION if runs and all(run.has_directions for run in runs) else metric


def comparable(by_row: Mapping[str, Sequence[Predictions]], metric: str) -> RowHits:
    """Return hits per video by row and seed; empty unless the metric is top-1 or direction over the whole test."""
    if metric != DIRECTION and not (metric.startswith("test/") and metric.endswith("_top1")):
        return RowHits()
    hits = {name: [one.hits(metric) for one in seeds] for name, seeds in by_row.items()}
    every = chain.from_iterable(by_row.values())
    return RowHits(hits, next((one.draws for one in every if one.draws), None))


def _same_test(one: Predictions, other: Predictions) -> bool:
    """Return whether the same videos were tested with the same labels, and with the same draws if both know them."""
    same = one.tasks.keys() == other.tasks.keys() and np.array_equal(one.video, other.video)
    if one.draws and other.draws and one.draws != other.draws:
        return False
    return same and all(np.array_equal(task.target, other.tasks[name].target) for name, task in one.tasks.items())


def row_pairs(paper: Accuracies, ours: Accuracies, row_hits: RowHits) -> list[Pair]:
    """Return the pairs of rows that were run, with the verdicts on the paper's order."""
    pairs = []
    differences = []
    for one, other in combinations(ours, 2):
        both = one in paper and other in paper
        ordered = both and paper[one] != paper[other]
        order = paper if ordered else ours
        first, second = sorted((one, other), key=lambda row: order[row], reverse=True)  # a tie keeps its order

        difference = row_hits.difference(first, second)
        bounded = difference is not None and difference.bounded
        pair = Pair(
            first=first,
            second=second,
            paper=paper[first] - paper[second] if both else None,
            verdict=UNDECIDED if ordered else None,
            difference=difference.value if difference else None,
            low=difference.low if difference and bounded else None,
            high=difference.high if difference and bounded else None,
        )
        pairs.append(pair)
        differences.append(difference)
    return _judged(pairs, differences)


def _judged(pairs: Sequence[Pair], differences: Sequence[Interval | None]) -> list[Pair]:
    """Judge the orderings of the paper among the pairs, corrected for their number (Holm), as they are counted."""
    judged = list(pairs)
    tested = []
    for number, (pair, difference) in enumerate(zip(pairs, differences, strict=True)):
        if pair.verdict and difference:
            tested.append((number, difference))

    chances = holm_adjusted([min(difference.above(0), difference.below(0)) for _, difference in tested])
    for (number, difference), chance in zip(tested, chances, strict=True):
        if chance <= LEVEL:
            verdict: Verdict = "supported" if difference.value > 0 else "contradicted"
            judged[number] = replace(pairs[number], verdict=verdict)
    return judged


def agreement_of(paper: Accuracies, ours: Accuracies, pairs: Sequence[Pair]) -> Agreement:
    """Return Kendall's tau between the paper and our runs, and counts of the verdicts on the paper's orderings."""
    both = picked(ours, paper)
    orderings = [pair for pair in pairs if pair.verdict]
    counts = Counter(pair.verdict for pair in orderings)
    return Agreement(
        tau=kendall_tau([*picked(paper, both).values()], [*both.values()]),
        rows=len(both),
        supported=counts["supported"],
        contradicted=counts["contradicted"],
        undecided=counts["undecided"],
        orderings=orderings,
    )


def sentences(summary: TableSummary) -> list[str]:
    """Say how far our runs agree with the paper; nothing if the paper orders no rows."""
    result = summary.agreement
    if not result.orderings:
        return []
    labels = summary.labels
    tau = "undefined" if result.tau is None else f"{result.tau:+.2f}"
    covered = certainty(summary)
    models = "our models of one seed" if covered.endswith(ONE_SEED) else "our runs"
    lines = [
        f"Order of {result.rows} rows against the paper: Kendall's tau {tau}. Of its {len(result.orderings)} "
        f"orderings of two rows {models} support {result.supported}, contradict {result.contradicted} and leave "
        f"{result.undecided} undecided, corrected for their number (Holm), by {covered}."
    ]
    for verdict in ("contradicted", "undecided"):
        texts = []
        for pair in result.orderings:
            if pair.verdict == verdict:
                texts.append(f"{labels[pair.first]} > {labels[pair.second]} ({interval_text(pair)})")
        if texts:
            lines.append(f"{verdict}: {'; '.join(texts)}")
    return lines


def certainty(summary: TableSummary) -> str:
    """Say what the intervals cover, what one seed cannot tell, and whether rows have the same seeds."""
    once = list[str]()
    several = False
    rows = [row for row in summary.rows if row.seeds]
    for row in rows:
        several = several or len(row.seeds) > 1
        if len(row.seeds) == 1:
            once.append(row.label)
    videos = f"test videos{_draws_in_words(summary.draws)}"
    if once and not several:
        return f"95 % intervals over {videos}. {ONE_SEED}"
    if not once:
        return f"95 % intervals over {videos} and seeds{_unequal(rows)}"
    said = f"Rows of one seed ({', '.join(once)}) are compared as models, not as methods: add --seeds 0,1,2"
    return f"95 % intervals over {videos}, and over seeds in rows of several{_unequal(rows)}. {said}"


def _draws_in_words(draws: DrawCount | None) -> str:
    """Say how many independent draws the test videos are, if fewer than the videos."""
    return f" ({plural(draws.count, draws.kind)}, each one draw)" if draws else ""


def _unequal(rows: Sequence[RowSummary]) -> str:
    """Say that rows have different seeds: then seeds may have been added where rows spread."""
    seeds = {tuple(row.seeds) for row in rows}
    if len(seeds) < 2:
        return ""
    counts = sorted({len(each) for each in seeds})
    number = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    return f"; rows have different seeds ({number} each), so not all were fixed before looking"


def interval_text(pair: Pair) -> str:
    """Return a difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    if pair.difference is None:
        return "not comparable: needs top-1 predictions of both for the same test videos"
    if pair.low is None or pair.high is None:
        return f"{pair.difference:+.1f}, no interval"
    return str(Interval(pair.difference, pair.low, pair.high))
