"""A table with the paper's numbers and those of our runs, as plain data."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from lit_video.tables.agreement import agreement_summary, comparable, pairs_summary, row_predictions
from lit_video.tables.damage import Damage
from lit_video.tables.results import measured_rows
from lit_video.tables.table import Row, Table


def summary(
    table: Table,
    runs: Path,
    seeds: Sequence[int] | None = None,
    pairs: bool = True,
    damage: Damage | None = None,
) -> dict[str, Any]:
    """A table as plain data: the paper's numbers, and ours from the ``result.json`` files alone.

    Args:
        table: the paper's.
        runs: folder of the runs.
        seeds: of the runs; ``None`` for all.
        pairs: whether to compare all rows in pairs, each of which takes 20 ms.
        damage: where damaged files are put, which are left out.
    """
    damage = damage or Damage()
    measured = measured_rows(table, runs, seeds, damage)
    lost = {row.name: damage.of(runs / table.name / table.scale / row.name) for row in table.rows}
    rows = [row_summary(row, measured[row.name], lost[row.name]) for row in table.rows]
    hits = comparable(row_predictions(table, runs, measured, damage), table.metric)
    papers = {row.name: row.paper[table.metric] for row in table.rows if table.metric in row.paper}
    averages = {row["name"]: row["metrics"].get(table.metric, {}).get("ours") for row in rows}
    ours = {name: value for name, value in averages.items() if value is not None}
    return {
        "table": table.name,
        "scale": table.scale,
        "title": table.title,
        "source": table.source,
        "metric": table.metric,
        "rows": rows,
        "reported": [row_summary(row, []) for row in table.reported],
        "agreement": agreement_summary(papers, ours, hits),
        "pairs": pairs_summary(hits, papers, ours) if pairs else [],
        "left_out": damage.of(runs / table.name / table.scale),
    }


def row_summary(row: Row, of_seeds: list[dict[str, Any]], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """A row as plain data, from the ``result.json`` of its seeds; ``left_out`` says what is wrong with further ones."""
    metrics = sorted({key for result in of_seeds for key in result["metrics"]} | row.paper.keys())
    return {
        "name": row.name,
        "label": row.label,
        "params": of_seeds[0]["params"] if of_seeds else None,
        "gmacs": of_seeds[0]["gmacs"] if of_seeds else None,
        "views": of_seeds[0]["views"] if of_seeds else None,
        "seconds": mean(result["seconds"] for result in of_seeds) if of_seeds else None,
        **{key: of_seeds[0].get(key) if of_seeds else None for key in ("reach", "sees_order", "blind_ceiling")},
        "seeds": [result["seed"] for result in of_seeds],
        "commits": sorted({result["commit"] for result in of_seeds}),
        "damaged": len(left_out),
        "metrics": {key: compare_with_paper(row.paper.get(key), _values(of_seeds, key)) for key in metrics},
    }


def _values(of_seeds: list[dict[str, Any]], key: str) -> list[float]:
    """What the runs measured; nothing for a number that only the paper has."""
    return [] if papers_own(key) else [result["metrics"][key] for result in of_seeds if key in result["metrics"]]


def compare_with_paper(paper: float | None, ours: list[float]) -> dict[str, float | None]:
    """A metric as plain data: the paper's number; our mean over seeds, its standard deviation, the lowest seed's.

    ``difference`` is our mean less the paper's number.
    """
    average = mean(ours) if ours else None
    return {
        "paper": paper,
        "ours": average,
        "std": stdev(ours) if len(ours) > 1 else None,
        "lowest": min(ours, default=None),
        "difference": average - paper if average is not None and paper is not None else None,
    }


def papers_own(key: str) -> bool:
    """Whether a number is of another data set of the paper's, which a run does not measure (``K400 top-1``)."""
    return "/" not in key
