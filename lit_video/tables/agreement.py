"""What a table's runs say of the order of its rows: agreement with the paper, paired differences. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from lit_video.tables.predictions import Predictions, read_predictions
from lit_video.tables.results import results
from lit_video.tables.statistics import Hits, Interval, agreement, paired_difference
from lit_video.tables.table import METRIC, Table


def row_predictions(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> dict[str, list[Predictions]]:
    """What the tests of each row found, by seed; rows without kept predictions are left out.

    Raises:
        UserError: a file is damaged.
    """
    found = {}
    for row in table.rows:
        numbers = [result["seed"] for result in results(table, runs, row, seeds)]
        of_seeds = [read_predictions(table.run_dir(runs, row, seed)) for seed in numbers]
        kept = [predictions for predictions in of_seeds if predictions]
        if kept and len(kept) == len(numbers):
            found[row.name] = kept
    return found


def comparable(found: Mapping[str, Sequence[Predictions]], metric: str = METRIC) -> dict[str, Hits]:
    """Of each row and seed, whether each video was right in what the metric counts.

    Rows tested on other videos than the first are left out.
    """
    if not found:
        return {}
    first = next(iter(found.values()))[0]
    return {
        name: [one.hits(metric) for one in seeds]
        for name, seeds in found.items()
        if all(np.array_equal(one.video, first.video) for one in seeds)
    }


def agreement_summary(
    paper: Mapping[str, float], ours: Mapping[str, float], hits: Mapping[str, Hits]
) -> dict[str, Any]:
    """:func:`~lit_video.tables.statistics.agreement` as plain data."""
    found = agreement(paper, ours, hits)
    counts = {verdict: found.count(verdict) for verdict in ("supported", "contradicted", "undecided")}
    orderings = [
        {"better": o.better, "worse": o.worse, "verdict": o.verdict} | _interval(o.difference) for o in found.orderings
    ]
    return {"tau": found.tau, "rows": found.rows, **counts, "orderings": orderings}


def pairs_summary(hits: Mapping[str, Hits]) -> list[dict[str, Any]]:
    """Paired differences of all rows, later less earlier, as plain data."""
    return [
        {"first": first, "second": second} | _interval(paired_difference(hits[second], hits[first]))
        for first, second in combinations(hits, 2)
    ]


def _interval(interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {"difference": None, "low": None, "high": None}
    return {"difference": interval.value, "low": interval.low, "high": interval.high}


def sentences(data: Mapping[str, Any]) -> list[str]:
    """Agreement with the paper in words; nothing for a table that the paper gives no order of."""
    found = data["agreement"]
    if not found["orderings"]:
        return []
    labels = {row["name"]: row["label"] for row in data["rows"]}
    tau = "none" if found["tau"] is None else f"{found['tau']:+.2f}"
    lines = [
        f"Order of {found['rows']} rows against the paper: Kendall's tau {tau}; of its {len(found['orderings'])} "
        f"orderings our runs support {found['supported']}, contradict {found['contradicted']}, cannot decide "
        f"{found['undecided']} ({_certainty(data)})."
    ]
    for verdict in ("contradicted", "undecided"):
        some = [o for o in found["orderings"] if o["verdict"] == verdict]
        if some:
            lines.append(f"{verdict}: " + "; ".join(_ordering(o, labels) for o in some))
    return lines


def _certainty(data: Mapping[str, Any]) -> str:
    """What the intervals speak of."""
    if any(len(row["seeds"]) == 1 for row in data["rows"]):
        return (
            "95 % bootstrap intervals over test videos; rows of one seed: of these trained models, not of the methods"
        )
    return "95 % bootstrap intervals over test videos and seeds"


def _ordering(ordering: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    names = f"{labels[ordering['better']]} > {labels[ordering['worse']]}"
    if ordering["difference"] is None:
        return f"{names} (not comparable: no predictions kept, or of other videos)"
    return f"{names} ({interval_text(ordering)})"


def interval_text(pair: Mapping[str, Any]) -> str:
    """A difference in points with its interval, such as ``+1.2 [-0.3, +2.7]``."""
    return f"{pair['difference']:+.1f} [{pair['low']:+.1f}, {pair['high']:+.1f}]"
