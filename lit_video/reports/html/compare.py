"""Comparison of the rows of a table: paired differences, and agreement with the paper."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

from lit_video.reports.html.collect import Section
from lit_video.tables.agreement import comparable, higher_first
from lit_video.tables.statistics import Agreement, Hits, Interval, Verdict, agreement, paired_difference


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


def averages(section: Section) -> dict[str, float]:
    """Our mean over seeds of the table's metric, of the rows that have it."""
    key = section.table.metric
    values = {
        row: [run.result["metrics"][key] for run in runs if key in run.result["metrics"]]
        for row, runs in section.runs.items()
    }
    return {row: mean(each) for row, each in values.items() if each}


def compare(section: Section) -> Comparison:
    """Compare every two rows; the row that the paper (or, where it has none, our mean) puts higher comes first."""
    key = section.table.metric
    paper = {row.name: row.paper[key] for row in section.table.rows if key in row.paper}
    ours = averages(section)
    hits = {row: each for row, each in row_hits(section).items() if row in ours}
    agreed = agreement(paper, ours, hits) if len(paper.keys() & ours.keys()) > 1 else None
    orderings = {frozenset((o.better, o.worse)): o for o in (agreed.orderings if agreed else ())}
    pairs = []
    for one, other in combinations(hits, 2):
        ordering = orderings.get(frozenset((one, other)))
        if ordering and ordering.difference:
            first, second, difference, verdict = ordering.better, ordering.worse, ordering.difference, ordering.verdict
        else:
            first, second = higher_first(one, other, paper, ours)
            difference, verdict = paired_difference(hits[first], hits[second]), None
        gap = paper[first] - paper[second] if first in paper and second in paper else None
        pairs.append(Pair(first, second, difference, gap, verdict))
    return Comparison(pairs, agreed, any(len(runs) == 1 for runs in section.runs.values()))


def row_hits(section: Section) -> Mapping[str, Hits]:
    """By row and seed, whether each test video was right, of the rows whose every run kept its predictions."""
    kept = {row: [run.predictions for run in runs if run.predictions] for row, runs in section.runs.items()}
    complete = {row: each for row, each in kept.items() if len(each) == len(section.runs[row])}
    return comparable(complete, section.table.metric)
