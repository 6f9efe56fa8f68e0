"""Comparison of the rows of a table: paired differences, and agreement with the paper."""

from dataclasses import dataclass
from itertools import combinations

from lit_video.reports.html.collect import Section
from lit_video.tables.agreement import comparable, higher_first
from lit_video.tables.statistics import Agreement, Interval, Verdict, agreement, paired_difference


@dataclass(frozen=True)
class Pair:
    """Two rows by name: our difference first - second, the paper's, and our verdict on the paper's order."""

    first: str
    second: str
    difference: Interval
    paper: float | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Comparison:
    """All pairs of rows whose predictions were kept; agreement where the paper has two of the rows that were run.

    ``single`` if a row has one seed: the intervals then cover its trained model, not its method.
    """

    pairs: list[Pair]
    agreement: Agreement | None
    single: bool


def compare(section: Section) -> Comparison:
    """Compare every two rows; the row that the paper (or, where it has none, our mean) puts higher comes first."""
    key, ours = section.table.metric, section.averages
    paper = {row.name: row.paper[key] for row in section.table.rows if key in row.paper}
    kept = {row.name: section.predictions(row) for row in section.table.rows if row.name in ours}
    hits = comparable({row: each for row, each in kept.items() if len(each) == len(section.runs[row])}, key)
    agreed = agreement(paper, ours, hits) if len(paper.keys() & ours.keys()) > 1 else None
    verdicts = {(o.better, o.worse): o.verdict for o in (agreed.orderings if agreed else ())}
    pairs = []
    for pair in combinations(hits, 2):
        first, second = higher_first(*pair, paper, ours)
        gap = paper[first] - paper[second] if first in paper and second in paper else None
        difference = paired_difference(hits[first], hits[second])
        pairs.append(Pair(first, second, difference, gap, verdicts.get((first, second))))
    return Comparison(pairs, agreed, any(len(runs) == 1 for runs in section.runs.values()))
