"""A table with the paper's numbers and those of our runs, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from lit_video.runs.predictions import Predictions
from lit_video.runs.result import remarks
from lit_video.tables.agreement import agreement_summary, comparable, compared_metric, row_pairs, row_predictions
from lit_video.tables.limits import Limits
from lit_video.tables.results import measured_rows
from lit_video.tables.row_hits import RowHits
from lit_video.tables.statistics import Hits
from lit_video.tables.table import Row, Table, column
from lit_video.tables.terms import terms

# facts of a row, from its first seed
FACTS = ("params", "gmacs", "views", "reach", "sees_order", "sees_near", "blind_ceiling", "sum_ceilings", "test_videos")
TRAINED = "train/video_top1"  # metric of a result: accuracy on training videos without augmentation


@dataclass(frozen=True)
class TableRuns:
    """Results and predictions of a table's runs, by row and seed."""

    table: Table  # at the runs' scale
    results: Mapping[str, Sequence[dict[str, Any]]]  # see results.measured_rows
    predictions: Mapping[str, Sequence[Predictions]]  # see agreement.row_predictions
    row_hits: RowHits  # by the metric ``compared``, see agreement.comparable

    @property
    def compared(self) -> str:
        """Metric by which rows are compared, see agreement.compared_metric."""
        return compared_metric(self.predictions, self.table.metric)

    @property
    def hits(self) -> Mapping[str, Hits]:
        """Hits by row and seed."""
        return self.row_hits.hits

    def limits(self, row: str) -> Limits:
        """Return what keeps a row from seeing what the task needs, as its first result records it."""
        return Limits.of(next(iter(self.results.get(row, ())), {}))

    def trained(self, row: str) -> float | None:
        """Return a row's accuracy on training videos at the end of training, in percent; ``None`` if not recorded.

        The mean over seeds. It is measured on videos without augmentation, with the views of the test.
        """
        values = [result["metrics"].get(TRAINED) for result in self.results.get(row, ())]
        known = [value for value in values if value is not None]
        return mean(known) if known and len(known) == len(values) else None

    @cached_property
    def data(self) -> dict[str, Any]:
        """Summary as plain data, see :func:`summary`."""
        table, rows, ours = self.table, [], {}
        draws = self.row_hits.draws
        for row in table.rows:
            rows.append(row_summary(row, self.results[row.name]))
            value = number(rows[-1], self.compared)
            if value is not None:
                ours[row.name] = value
        pairs = row_pairs(table.papers, ours, self.row_hits)
        return {
            "table": table.name,
            "scale": table.scale,
            "title": table.title,
            "source": table.source,
            "on_papers_data": table.on_papers_data,
            "metric": table.metric,
            "compared": self.compared,
            "terms": terms({row.name: row.label for row in table.rows}, self.results),
            "rows": rows,
            "reported": [row_summary(row, []) for row in table.reported],
            "draws": None if draws is None else {"kind": draws.kind, "count": draws.count},
            "agreement": agreement_summary(table.papers, ours, pairs),
            "pairs": [pair for pair in pairs if pair["difference"] is not None],
        }

    @property
    def finished(self) -> list[dict[str, Any]]:
        """Results of all rows and seeds."""
        return list(chain.from_iterable(self.results.values()))


def read_runs(table: Table, runs: Path, seeds: Sequence[int] | None = None, overridden: bool = False) -> TableRuns:
    """Read the results and predictions of a table's runs, for the given seeds or all.

    ``overridden``: also runs whose settings are not the row's; their labels name the differences.
    """
    results = measured_rows(table, runs, seeds, overridden)
    predictions = row_predictions(table, results)
    hits = comparable(predictions, compared_metric(predictions, table.metric))
    return TableRuns(table, results, predictions, hits)


def summary(table: Table, runs: Path, seeds: Sequence[int] | None = None, overridden: bool = False) -> dict[str, Any]:
    """Read a table's runs and summarise them as plain data: the paper's numbers beside ours.

    ``runs`` is a folder of runs or of packs; ``seeds``: ``None`` for all; ``overridden``: see :func:`read_runs`.

    Returns:
        ``table``, ``scale``, ``title``, ``source``, ``metric`` (the paper's) and ``compared`` (ours); ``terms`` of
        the trainings; ``rows``
        (``name``, ``label``, ``params``, ``gmacs`` of a view, ``seconds`` of training, ``seeds``, and by name
        ``metrics`` in percent: ``paper``, ``ours``, ``std``, ``lowest``); ``reported`` rows; ``draws`` of the test, if
        fewer than its videos; ``agreement`` with the paper's order; ``pairs`` with differences.

    Raises:
        UserError: a run is damaged, is of another table, row or seed than its folder says, cannot be compared, or
            has other settings than its row.
    """
    return read_runs(table, runs, seeds, overridden).data


def row_summary(row: Row, of_seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a row as plain data, from the results of its seeds."""
    first = next(iter(of_seeds), {})
    ours: dict[str, list[float]] = {}
    for result in of_seeds:
        for key, value in result["metrics"].items():
            ours.setdefault(key, []).append(value)
    said = dict.fromkeys(chain.from_iterable(map(remarks, of_seeds)))
    metrics = sorted(ours.keys() | row.paper.keys())
    return {
        "name": row.name,
        "label": " ".join([row.label, *map("({})".format, said)]),
        **{key: first.get(key) for key in FACTS},
        "seconds": mean(column(of_seeds, "seconds")) if of_seeds else None,
        "seeds": column(of_seeds, "seed"),
        "commits": sorted(set(column(of_seeds, "commit"))),
        "metrics": {key: _compared(row.paper.get(key), ours.get(key, [])) for key in metrics},
    }


def _compared(paper: float | None, ours: list[float]) -> dict[str, float | None]:
    deviation = stdev(ours) if len(ours) > 1 else None
    return {"paper": paper, "ours": mean(ours) if ours else None, "std": deviation, "lowest": min(ours, default=None)}


def number(row: Mapping[str, Any], metric: str, which: str = "ours") -> float | None:
    """Return our number of a metric in a :func:`row_summary`, or the paper's; ``None`` if there is none."""
    found: float | None = row["metrics"].get(metric, {}).get(which)
    return found
