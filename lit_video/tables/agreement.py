"""The order of a table's rows in our runs: agreement with the paper, paired differences."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lit_video.runs.predictions import Predictions, read_predictions
from lit_video.tables.statistics import Hits, Verdict, kendall_tau, paired_difference
from lit_video.tables.table import Table

VERDICTS: dict[int, Verdict] = {1: "supported", -1: "contradicted", 0: "undecided"}  # by an interval's sign


def row_predictions(
    table: Table, runs: Path, measured: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, list[Predictions]]:
    """Return predictions by row and seed, for rows that kept all and were tested on the first such row's videos."""
    by_row: dict[str, list[Predictions]] = {}
    first: Predictions | None = None
    for row in table.rows:
        results = measured[row.name]
        seeds = [read_predictions(table.run_dir(runs, row, one["seed"]), one["test_videos"]) for one in results]
        kept = [predictions for predictions in seeds if predictions]
        if kept and len(kept) == len(results):
            first = first or kept[0]
            if all(_same_test(one, first) for one in kept):
                by_row[row.name] = kept
    return by_row


def comparable(by_row: Mapping[str, Sequence[Predictions]], metric: str) -> dict[str, Hits]:
    """Return hits per video by row and seed; empty unless the metric is top-1 accuracy over the whole test."""
    if not (metric.startswith("test/") and metric.endswith("_top1")):
        return {}
    return {name: [one.hits(metric) for one in seeds] for name, seeds in by_row.items()}


def _same_test(one: Predictions, other: Predictions) -> bool:
    """Return whether the same videos were tested with the same labels; lists of equal length may differ."""
    same = one.tasks.keys() == other.tasks.keys() and np.array_equal(one.video, other.video)
    return same and all(np.array_equal(task.target, other.tasks[name].target) for name, task in one.tasks.items())


def row_pairs(
    paper: Mapping[str, float], ours: Mapping[str, float], hits: Mapping[str, Hits], unordered: bool = True
) -> list[dict[str, Any]]:
    """Return pairs of rows that were run, as plain data; first the row with the paper's (else our) higher number.

    Each has our paired ``difference`` with its interval (``None`` if one has no predictions) and the ``paper``'s. The
    paper's order is supported or contradicted where the interval excludes zero, else undecided. ``ours`` are means of
    the rows that were run. With ``unordered``, pairs without an order in the paper are compared too.
    """
    pairs = []
    for one, other in combinations(ours, 2):
        both = one in paper and other in paper
        ordered = both and paper[one] != paper[other]
        measured = hits.get(one) and hits.get(other)
        if not ordered and not (unordered and measured):
            continue
        order = paper if ordered else ours
        first, second = (one, other) if order[one] >= order[other] else (other, one)
        found = paired_difference(hits[first], hits[second]) if measured else None
        numbers = (found.value, found.low, found.high) if found else (None, None, None)
        pair = {"first": first, "second": second, "paper": paper[first] - paper[second] if both else None}
        pair["verdict"] = VERDICTS[found.sign if found else 0] if ordered else None
        pairs.append(pair | dict(zip(("difference", "low", "high"), numbers, strict=True)))
    return pairs


def agreement_summary(
    paper: Mapping[str, float], ours: Mapping[str, float], pairs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return how far our runs agree with a paper on the order of rows, as plain data.

    ``tau`` is Kendall's over the ``rows`` that were run; ``orderings`` are the :func:`row_pairs` with an order in the
    paper; their verdicts are counted.
    """
    rows = [row for row in paper if row in ours]
    orderings = [pair for pair in pairs if pair["verdict"]]
    counts = {str(verdict): [each["verdict"] for each in orderings].count(verdict) for verdict in VERDICTS.values()}
    tau = kendall_tau([paper[row] for row in rows], [ours[row] for row in rows])
    return {"tau": tau, "rows": len(rows), **counts, "orderings": orderings}


def sentences(data: Mapping[str, Any]) -> list[str]:
    """Say how far our runs agree with the paper; nothing if the paper orders no rows."""
    result = data["agreement"]
    if not result["orderings"]:
        return []
    labels = {row["name"]: row["label"] for row in data["rows"]}
    tau = "undefined" if result["tau"] is None else f"{result['tau']:+.2f}"
    models = "our models of one seed" if _one_seed(data) else "our runs"
    lines = [
        f"Order of {result['rows']} rows against the paper: Kendall's tau {tau}. Of its {len(result['orderings'])} "
        f"orderings of two rows {models} support {result['supported']}, contradict {result['contradicted']} and leave "
        f"{result['undecided']} undecided, by {certainty(data)}."
    ]
    for verdict in ("contradicted", "undecided"):
        some = [o for o in result["orderings"] if o["verdict"] == verdict]
        if some:
            lines.append(f"{verdict}: " + "; ".join(_ordering(o, labels) for o in some))
    return lines


def certainty(data: Mapping[str, Any]) -> str:
    """Say what the intervals cover, and what one seed cannot tell."""
    if _one_seed(data):
        return "95 % intervals over test videos. One seed compares these models, not the methods: add --seeds 0,1,2"
    return "95 % intervals over test videos and seeds"


def _one_seed(data: Mapping[str, Any]) -> bool:
    return any(len(row["seeds"]) == 1 for row in data["rows"])


def _ordering(ordering: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    names = f"{labels[ordering['first']]} > {labels[ordering['second']]}"
    if ordering["difference"] is None:
        return f"{names} (not comparable: no predictions kept, or of other videos)"
    return f"{names} ({interval_text(ordering)})"


def interval_text(pair: Mapping[str, Any]) -> str:
    """Return a difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    return f"{pair['difference']:+.1f} [{pair['low']:+.1f}, {pair['high']:+.1f}]"
