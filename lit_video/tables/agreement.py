"""The order of a table's rows in our runs: agreement with the paper, paired differences."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lit_video.tables.predictions import Predictions, read_predictions
from lit_video.tables.statistics import Hits, Interval, Verdict, kendall_tau, paired_difference
from lit_video.tables.table import Table

VERDICTS: dict[int, Verdict] = {1: "supported", -1: "contradicted", 0: "undecided"}  # by an interval's sign


def row_predictions(
    table: Table, runs: Path, measured: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[Predictions]]:
    """The predictions of each row's tests, by seed; rows that did not keep all of them are left out.

    Args:
        table: the paper's.
        runs: folder of the runs.
        measured: the results of each row.

    Raises:
        UserError: a file is damaged.
    """
    by_row = {}
    for row in table.rows:
        results = measured[row.name]
        seeds = [read_predictions(table.run_dir(runs, row, one["seed"]), one["test_videos"]) for one in results]
        kept = [predictions for predictions in seeds if predictions]
        if kept and len(kept) == len(results):
            by_row[row.name] = kept
    return by_row


def same_test(by_row: Mapping[str, Sequence[Predictions]]) -> dict[str, Sequence[Predictions]]:
    """The rows whose seeds were all tested on the videos of the first."""
    first = next(iter(by_row.values()))[0] if by_row else None
    return {name: seeds for name, seeds in by_row.items() if first and all(_same_test(one, first) for one in seeds)}


def comparable(by_row: Mapping[str, Sequence[Predictions]], metric: str) -> dict[str, Hits]:
    """Correctness of each video in the table's metric, by row and seed.

    All are left out for a metric that is no top-1 accuracy over the whole test, since it counts something else.
    """
    if not (metric.startswith("test/") and metric.endswith("_top1")):
        return {}
    return {name: [one.hits(metric) for one in seeds] for name, seeds in by_row.items()}


def _same_test(one: Predictions, other: Predictions) -> bool:
    """Whether the same videos were tested, with the same labels: numbers alone do not tell lists of equal length."""
    same = one.tasks.keys() == other.tasks.keys() and np.array_equal(one.video, other.video)
    return same and all(np.array_equal(task.target, other.tasks[name].target) for name, task in one.tasks.items())


def agreement_summary(
    paper: Mapping[str, float], ours: Mapping[str, float], hits: Mapping[str, Hits]
) -> dict[str, Any]:
    """Agreement of our runs with a paper on the order of rows, as plain data.

    ``tau`` is Kendall's over the ``rows`` that were run. An ordering, ``better`` over ``worse`` in the paper, is
    supported or contradicted where the interval of the paired difference excludes zero; else, or without predictions
    of both rows, it is undecided. Each verdict is counted.

    Args:
        paper: the paper's number of each row.
        ours: our mean, of the rows that were run.
        hits: correctness of each test video, by row and seed.
    """
    rows = [row for row in paper if row in ours]
    orderings = []
    for one, other in combinations(rows, 2):
        if paper[one] == paper[other]:
            continue
        better, worse = (one, other) if paper[one] > paper[other] else (other, one)
        both = hits.get(better) and hits.get(worse)
        difference = paired_difference(hits[better], hits[worse]) if both else None
        verdict = VERDICTS[difference.sign if difference else 0]
        orderings.append({"better": better, "worse": worse, "verdict": verdict} | _interval(difference))
    counts = {str(verdict): [each["verdict"] for each in orderings].count(verdict) for verdict in VERDICTS.values()}
    tau = kendall_tau([paper[row] for row in rows], [ours[row] for row in rows])
    return {"tau": tau, "rows": len(rows), **counts, "orderings": orderings}


def pairs_summary(
    hits: Mapping[str, Hits], papers: Mapping[str, float], ours: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Paired differences of all rows, first less second, as plain data."""
    pairs = [higher_first(one, other, papers, ours) for one, other in combinations(hits, 2)]
    return [
        {"first": first, "second": second} | _interval(paired_difference(hits[first], hits[second]))
        for first, second in pairs
    ]


def higher_first(one: str, other: str, papers: Mapping[str, float], ours: Mapping[str, float]) -> tuple[str, str]:
    """Two rows, first the one that the paper puts higher; where it has no order of them, our mean."""
    ordered = one in papers and other in papers and papers[one] != papers[other]
    order = papers if ordered else ours
    return (one, other) if order[one] >= order[other] else (other, one)


def _interval(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"difference": None, "low": None, "high": None}
    return {"difference": interval.value, "low": interval.low, "high": interval.high}


def sentences(data: Mapping[str, Any]) -> list[str]:
    """Agreement with the paper in words; nothing for a table that the paper gives no order of."""
    result = data["agreement"]
    if not result["orderings"]:
        return []
    labels = {row["name"]: row["label"] for row in data["rows"]}
    tau = "none" if result["tau"] is None else f"{result['tau']:+.2f}"
    lines = [
        f"Order of {result['rows']} rows against the paper: Kendall's tau {tau}; of its {len(result['orderings'])} "
        f"orderings our runs support {result['supported']}, contradict {result['contradicted']}, cannot decide "
        f"{result['undecided']} ({certainty(data)})."
    ]
    for verdict in ("contradicted", "undecided"):
        some = [o for o in result["orderings"] if o["verdict"] == verdict]
        if some:
            lines.append(f"{verdict}: " + "; ".join(_ordering(o, labels) for o in some))
    return lines


def certainty(data: Mapping[str, Any]) -> str:
    """Sentence on what the intervals cover."""
    if any(len(row["seeds"]) == 1 for row in data["rows"]):
        return "95 % intervals over test videos; rows of one seed: of these trained models, not of the methods"
    return "95 % intervals over test videos and seeds"


def _ordering(ordering: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    names = f"{labels[ordering['better']]} > {labels[ordering['worse']]}"
    if ordering["difference"] is None:
        return f"{names} (not comparable: no predictions kept, or of other videos)"
    return f"{names} ({interval_text(ordering)})"


def interval_text(pair: Mapping[str, Any]) -> str:
    """A difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    return f"{pair['difference']:+.1f} [{pair['low']:+.1f}, {pair['high']:+.1f}]"
