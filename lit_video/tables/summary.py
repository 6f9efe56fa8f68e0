"""A table with the paper's numbers and those of our runs, as plain data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from lit_video.tables.agreement import agreement_summary, comparable, pairs_summary, row_predictions, same_test
from lit_video.tables.predictions import Predictions
from lit_video.tables.results import measured_rows
from lit_video.tables.statistics import Hits
from lit_video.tables.table import Row, Table

OF_SCHEME = ("reach", "sees_order", "blind_ceiling")


@dataclass(frozen=True)
class TableRuns:
    """Results and predictions of a table's runs.

    Args:
        table: at their scale.
        results: results by row and seed, see :func:`~lit_video.tables.results.measured_rows`.
        predictions: predictions by row and seed, for the same videos; of rows that kept all of them.
        hits: correctness by row, see :func:`~lit_video.tables.agreement.comparable`.
    """

    table: Table
    results: Mapping[str, Sequence[dict[str, Any]]]
    predictions: Mapping[str, Sequence[Predictions]]
    hits: dict[str, Hits]


def read_runs(table: Table, runs: Path, seeds: Sequence[int] | None = None) -> TableRuns:
    """Read the results and predictions of a table; the arguments are those of :func:`summary`."""
    results = measured_rows(table, runs, seeds)
    predictions = same_test(row_predictions(table, runs, results))
    return TableRuns(table, results, predictions, comparable(predictions, table.metric))


def summary(
    table: Table,
    runs: Path,
    seeds: Sequence[int] | None = None,
    pairs: bool = True,
) -> dict[str, Any]:
    """A table as plain data: the paper's numbers, and ours from results alone.

    Args:
        table: the paper's.
        runs: folder of the runs.
        seeds: seeds of the runs; ``None`` for all.
        pairs: whether to compare all rows in pairs, each of which takes 20 ms.

    Raises:
        UserError: a file is damaged, or two results do not belong together.
    """
    return summarise(read_runs(table, runs, seeds), pairs)


def summarise(read: TableRuns, pairs: bool = True) -> dict[str, Any]:
    """As :func:`summary`, of runs that have been read."""
    table = read.table
    rows = [row_summary(row, read.results[row.name]) for row in table.rows]
    papers = {row.name: row.paper[table.metric] for row in table.rows if table.metric in row.paper}
    ours = averages(rows, table.metric)
    return {
        "table": table.name,
        "scale": table.scale,
        "title": table.title,
        "source": table.source,
        "on_papers_data": table.on_papers_data,
        "metric": table.metric,
        "rows": rows,
        "reported": [row_summary(row, []) for row in table.reported],
        "agreement": agreement_summary(papers, ours, read.hits),
        "pairs": pairs_summary(read.hits, papers, ours) if pairs else [],
    }


def averages(rows: Iterable[Mapping[str, Any]], metric: str) -> dict[str, float]:
    """Our mean over seeds of a metric, by row, of the rows that have it."""
    ours = {row["name"]: row["metrics"].get(metric, {}).get("ours") for row in rows}
    return {name: value for name, value in ours.items() if value is not None}


def row_summary(row: Row, of_seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A row as plain data, from the results of its seeds."""
    metrics = sorted({key for result in of_seeds for key in result["metrics"]} | row.paper.keys())
    return {
        "name": row.name,
        "label": row.label,
        "params": of_seeds[0]["params"] if of_seeds else None,
        "gmacs": of_seeds[0]["gmacs"] if of_seeds else None,
        "views": of_seeds[0]["views"] if of_seeds else None,
        "seconds": mean(result["seconds"] for result in of_seeds) if of_seeds else None,
        **{
            key: of_seeds[0].get(key) if of_seeds else None
            for key in ("reach", "sees_order", "blind_ceiling", "test_videos")
        },
        "seeds": [result["seed"] for result in of_seeds],
        "commits": sorted({result["commit"] for result in of_seeds}),
        "metrics": {key: compare_with_paper(row.paper.get(key), _values(of_seeds, key)) for key in metrics},
    }


def _values(of_seeds: Sequence[dict[str, Any]], key: str) -> list[float]:
    """Measured values of the runs; none for a number that only the paper has."""
    return [] if papers_own(key) else [result["metrics"][key] for result in of_seeds if key in result["metrics"]]


def compare_with_paper(paper: float | None, ours: list[float]) -> dict[str, float | None]:
    """A metric as plain data: the paper's number; our mean over seeds, its standard deviation, the lowest seed's."""
    average = mean(ours) if ours else None
    return {
        "paper": paper,
        "ours": average,
        "std": stdev(ours) if len(ours) > 1 else None,
        "lowest": min(ours, default=None),
    }


def papers_own(key: str) -> bool:
    """Whether a number is of another data set of the paper's, which a run does not measure (``K400 top-1``)."""
    return "/" not in key
