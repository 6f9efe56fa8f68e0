"""Read a table's runs and put their numbers beside the paper's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import mean, stdev

from msgspec import structs

from lit_video.runs.finished import FinishedRun, remarks
from lit_video.runs.predictions import Predictions
from lit_video.settings.effects import picked
from lit_video.tables.agreement import agreement_of, row_pairs
from lit_video.tables.comparing import Comparison, TrainedRow, compare_rows, of_both_halves
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.results import measured_rows
from lit_video.tables.row_hits import RowHits, comparable, compared_metric, row_predictions
from lit_video.tables.statistics import Hits
from lit_video.tables.table import Row, Table
from lit_video.tables.table_summary import DrawCount, Numbers, RowSummary, TableSummary
from lit_video.tables.terms import terms

HALF = "half"  # file of the scale with half of the steps, in experiments/scale
OTHER = "_other"  # ending of the file that tests a scale's training persons, by models of its test persons


@dataclass(frozen=True)
class TableRuns:
    """Finished runs of a table with their predictions, by row and seed."""

    table: Table  # at the runs' scale
    by_row: Mapping[str, Sequence[FinishedRun]]  # see results.measured_rows
    predictions: Mapping[str, Sequence[Predictions]]  # see row_hits.row_predictions
    row_hits: RowHits  # by the metric ``compared``, see row_hits.comparable
    halves: Mapping[str, Sequence[FinishedRun]]  # runs of half of the steps, by row
    # the other half of the persons; left out if it was not run
    other: "TableRuns | None" = field(default=None, kw_only=True)

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
        compared = compare_rows(self.rows[first], self.rows[second], self.row_hits)
        return of_both_halves(compared, self.other.compare(first, second)) if self.other else compared

    @cached_property
    def data(self) -> TableSummary:
        """The paper's numbers beside those of the runs."""
        table = self.table
        rows = [row_summary(row, self._of_all_persons(row.name)) for row in table.rows]
        measured = {}
        for row in rows:
            value = row.numbers(self.compared).ours
            if value is not None:
                measured[row.name] = value

        pairs = row_pairs(table.papers, measured, self.compare)
        draws = [read.row_hits.draws for read in (self, self.other) if read]
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
            draws=DrawCount(draws[0].kind, sum(of_half.count for of_half in draws if of_half)) if draws[0] else None,
            agreement=agreement_of(table.papers, measured, pairs),
            pairs=[pair for pair in pairs if pair.difference is not None],
        )

    def _of_all_persons(self, row: str) -> Sequence[FinishedRun]:
        """Return a row's runs by seed; if both halves of the persons were run, seeds of both, with their mean."""
        if self.other is None:
            return self.by_row[row]
        of_other = {run.result.seed: run.result for run in self.other.by_row[row]}
        runs = []
        for run in self.by_row[row]:
            if other := of_other.get(run.result.seed):
                both = picked(run.result.metrics, other.metrics)
                metrics = {name: (value + other.metrics[name]) / 2 for name, value in both.items()}
                videos = run.result.test_videos + other.test_videos
                runs.append(replace(run, result=structs.replace(run.result, metrics=metrics, test_videos=videos)))
        return runs

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
    halves = _halves(table, runs, seeds)
    other = _other_half(table, runs, seeds, overridden=overridden)
    return TableRuns(table, by_row, predictions, hits, halves, other=other)


def _other_half(table: Table, runs: Path, seeds: Sequence[int] | None, *, overridden: bool) -> TableRuns | None:
    """Return the runs that test the training persons of a scale; ``None`` if it names none, or none was run."""
    names = f"{table.scale}+{table.scale}{OTHER}"
    if not (table.path.parent / "scale" / f"{table.scale}{OTHER}.yaml").is_file():
        return None
    other = read_runs(table_at(table.path, names), runs, seeds, overridden=overridden)
    return other if other.finished else None


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
        values = measured.get(key, [])
        metrics[key] = Numbers(
            paper=row.paper.get(key),
            ours=mean(values) if values else None,
            std=stdev(values) if len(values) > 1 else None,
            lowest=min(values, default=None),
        )

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
