"""Read a table's runs and put their numbers beside the paper's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import mean, stdev

from lit_video.runs.finished import FinishedRun, remarks
from lit_video.runs.predictions import Predictions
from lit_video.tables.agreement import agreement_of, row_pairs
from lit_video.tables.comparing import Comparison, TrainedRow, compare_rows
from lit_video.tables.reading import read_table
from lit_video.tables.results import measured_rows
from lit_video.tables.row_hits import RowHits, comparable, compared_metric, row_predictions
from lit_video.tables.statistics import Hits
from lit_video.tables.table import Row, Table
from lit_video.tables.table_summary import DrawCount, Numbers, RowSummary, TableSummary
from lit_video.tables.terms import terms

HALF = "half"  # file of the scale with half of the steps, in experiments/scale


@dataclass(frozen=True)
class TableRuns:
    """Finished runs of a table with their predictions, by row and seed."""

    table: Table  # at the runs' scale
    by_row: Mapping[str, Sequence[FinishedRun]]  # see results.measured_rows
    predictions: Mapping[str, Sequence[Predictions]]  # see row_hits.row_predictions
    row_hits: RowHits  # by the metric ``compared``, see row_hits.comparable
    halves: Mapping[str, Sequence[FinishedRun]]  # runs of half of the steps, by row

    @property
    def compared(self) -> str:
        """Metric by which rows are compared, see row_hits.compared_metric."""
        return compared_metric(self.predictions, self.table.metric)

    @property
    def hits(self) -> Mapping[str, Hits]:
        """Hits by row and seed."""
        return self.row_hits.hits

    @cached_property
    def rows(self) -> Mapping[str, TrainedRow]:
        """The table's rows with their runs, by name."""
        rows = {}
        for row in self.table.rows:
            of_row = self.by_row.get(row.name, ())
            rows[row.name] = TrainedRow(row.name, of_row, self.halves.get(row.name, ()), row.is_control)
        return rows

    def compare(self, first: str, second: str) -> Comparison:
        """Compare two rows, see :func:`~lit_video.tables.comparing.compare_rows`."""
        return compare_rows(self.rows[first], self.rows[second], self.row_hits)

    @cached_property
    def data(self) -> TableSummary:
        """The paper's numbers beside those of the runs."""
        table = self.table
        rows = [row_summary(row, self.by_row[row.name]) for row in table.rows]
        measured = {}
        for row in rows:
            value = row.numbers(self.compared).ours
            if value is not None:
                measured[row.name] = value

        pairs = row_pairs(table.papers, measured, self.compare)
        draws = self.row_hits.draws
        return TableSummary(
            table=table.name,
            scale=table.scale,
            title=table.title,
            source=table.source,
            on_papers_data=table.on_papers_data,
            metric=table.metric,
            compared=self.compared,
            terms=terms({row.name: row.label for row in table.rows}, self.by_row),
            rows=rows,
            reported=[row_summary(row, []) for row in table.reported],
            draws=None if draws is None else DrawCount(draws.kind, draws.count),
            agreement=agreement_of(table.papers, measured, pairs),
            pairs=[pair for pair in pairs if pair.difference is not None],
        )

    @property
    def finished(self) -> list[FinishedRun]:
        """Runs of all rows and seeds."""
        return list(chain.from_iterable(self.by_row.values()))


def read_runs(table: Table, runs: Path, seeds: Sequence[int] | None = None, *, overridden: bool = False) -> TableRuns:
    """Read the results and predictions of a table's runs, for the given seeds or all.

    ``overridden`` also takes runs whose settings are not their row's; their labels then name these settings.
    """
    by_row = measured_rows(table, runs, seeds, overridden=overridden)
    predictions = row_predictions(table, by_row)
    hits = comparable(predictions, compared_metric(predictions, table.metric))
    return TableRuns(table, by_row, predictions, hits, _halves(table, runs, seeds))


def _halves(table: Table, runs: Path, seeds: Sequence[int] | None) -> Mapping[str, Sequence[FinishedRun]]:
    """Return the runs of half of the steps, which lie beside a table's runs as those of another scale."""
    own = read_table([table.path]).scale
    half = replace(table, scale=HALF if table.scale == own else f"{table.scale}+{HALF}", settings={})
    return measured_rows(half, runs, seeds, overridden=True)


def summary(table: Table, runs: Path, seeds: Sequence[int] | None = None, *, overridden: bool = False) -> TableSummary:
    """Read a table's runs and summarise them: the paper's numbers beside ours.

    ``runs`` is a folder of runs or of packs; ``seeds``: ``None`` for all; ``overridden``: see :func:`read_runs`.

    Raises:
        UserError: a run is damaged, is of another table, row or seed than its folder says, cannot be compared, or
            has other settings than its row.
    """
    return read_runs(table, runs, seeds, overridden=overridden).data


def row_summary(row: Row, of_seeds: Sequence[FinishedRun]) -> RowSummary:
    """Return a row's summary, from its runs by seed."""
    measured: dict[str, list[float]] = {}
    for run in of_seeds:
        for key, value in run.result.metrics.items():
            measured.setdefault(key, []).append(value)
    metrics = {}
    for key in sorted(measured.keys() | row.paper.keys()):
        metrics[key] = _numbers(row.paper.get(key), measured.get(key, []))

    texts = dict.fromkeys(chain.from_iterable(map(remarks, of_seeds)))
    first = of_seeds[0].result if of_seeds else None
    return RowSummary(
        name=row.name,
        label=" ".join([row.label, *(f"({text})" for text in texts)]),
        params=first.params if first else None,
        gmacs=first.gmacs if first else None,
        views=first.views if first else None,
        reach=first.reach if first else None,
        sees_order=first.sees_order if first else None,
        sees_near=first.sees_near if first else None,
        blind_ceiling=first.blind_ceiling if first else None,
        sum_ceilings=first.sum_ceilings if first else None,
        two_frames_ceilings=first.two_frames_ceilings if first else None,
        test_videos=first.test_videos if first else None,
        seconds=mean(run.result.seconds for run in of_seeds) if of_seeds else None,
        seeds=[run.result.seed for run in of_seeds],
        commits=sorted({run.identity.commit for run in of_seeds}),
        metrics=metrics,
    )


def _numbers(paper: float | None, measured: Sequence[float]) -> Numbers:
    return Numbers(
        paper=paper,
        ours=mean(measured) if measured else None,
        std=stdev(measured) if len(measured) > 1 else None,
        lowest=min(measured, default=None),
    )
