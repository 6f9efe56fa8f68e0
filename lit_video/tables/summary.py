"""A table with the paper's numbers and those of our runs, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from lit_video.runs.predictions import Predictions
from lit_video.tables.agreement import agreement_summary, comparable, row_pairs, row_predictions
from lit_video.tables.results import measured_rows
from lit_video.tables.statistics import Hits
from lit_video.tables.table import Row, Table

FACTS = ("params", "gmacs", "views", "reach", "sees_order", "blind_ceiling", "test_videos")  # from a row's first seed


@dataclass(frozen=True)
class TableRuns:
    """Results and predictions of a table's runs, by row and seed."""

    table: Table  # at the runs' scale
    results: Mapping[str, Sequence[dict[str, Any]]]  # see results.measured_rows
    predictions: Mapping[str, Sequence[Predictions]]  # rows that kept all of them, for the same videos
    hits: dict[str, Hits]  # see agreement.comparable


def read_runs(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> TableRuns:
    """Read the results and predictions of a table, of some seeds or all."""
    results = measured_rows(table, runs, seeds)
    predictions = row_predictions(table, runs, results)
    return TableRuns(table, results, predictions, comparable(predictions, table.metric))


def summary(table: Table, runs: Path, seeds: Sequence[int] | None = None, pairs: bool = True) -> dict[str, Any]:
    """Read a table's runs and summarise them as plain data: the paper's numbers beside ours.

    ``runs`` is a folder of runs or of packs; ``seeds``: ``None`` for all; ``pairs`` compares all rows, 20 ms a pair.

    Returns:
        ``table``, ``scale``, ``title``, ``source``, ``metric``; ``rows`` (``name``, ``label``, ``params``, ``gmacs`` of
        a view, ``seconds`` of training, ``seeds``, and ``metrics``: ``paper``, ``ours``, ``std``, ``lowest`` of each,
        in percent); ``reported`` rows; ``agreement`` with the paper's order; ``pairs`` with differences.

    Raises:
        UserError: a run is damaged, or belongs to another table, row or seed than its folder says.
    """
    return summarise(read_runs(table, runs, seeds), pairs)


def summarise(read: TableRuns, pairs: bool = True) -> dict[str, Any]:
    """Return a table as plain data: the paper's numbers beside ours; ``pairs`` compares all rows, 20 ms each pair."""
    table = read.table
    rows = [row_summary(row, read.results[row.name]) for row in table.rows]
    papers = {row.name: row.paper[table.metric] for row in table.rows if table.metric in row.paper}
    means = {row["name"]: row["metrics"].get(table.metric, {}).get("ours") for row in rows}
    ours = {name: value for name, value in means.items() if value is not None}
    compared = row_pairs(papers, ours, read.hits, pairs)
    return {
        "table": table.name,
        "scale": table.scale,
        "title": table.title,
        "source": table.source,
        "on_papers_data": table.on_papers_data,
        "metric": table.metric,
        "rows": rows,
        "reported": [row_summary(row, []) for row in table.reported],
        "agreement": agreement_summary(papers, ours, compared),
        "pairs": [pair for pair in compared if pair["difference"] is not None] if pairs else [],
    }


def row_summary(row: Row, of_seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a row as plain data, from the results of its seeds."""
    metrics = sorted({key for result in of_seeds for key in result["metrics"]} | row.paper.keys())
    ours = {key: [result["metrics"][key] for result in of_seeds if key in result["metrics"]] for key in metrics}
    first = of_seeds[0] if of_seeds else {}
    known = max((result.get("test_seen", 0) for result in of_seeds), default=0)
    return {
        "name": row.name,
        "label": f"{row.label} ({known} of {first['test_videos']} test videos trained on)" if known else row.label,
        **{key: first.get(key) for key in FACTS},
        "seconds": mean(result["seconds"] for result in of_seeds) if of_seeds else None,
        "seeds": [result["seed"] for result in of_seeds],
        "commits": sorted({result["commit"] for result in of_seeds}),
        "metrics": {key: _compared(row.paper.get(key), ours[key]) for key in metrics},
    }


def _compared(paper: float | None, ours: list[float]) -> dict[str, float | None]:
    return {
        "paper": paper,
        "ours": mean(ours) if ours else None,
        "std": stdev(ours) if len(ours) > 1 else None,
        "lowest": min(ours, default=None),
    }


def papers_own(key: str) -> bool:
    """Return whether a paper's number is for another data set, so that no run measures it (``K400 top1``)."""
    return "/" not in key
