"""Read a table's runs; their terms, and their numbers and the order of its rows beside the paper's."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from msgspec import structs

from lit_video.runs.folder import FinishedRun, remarks
from lit_video.runs.predictions import Predictions
from lit_video.runs.record import RunResult
from lit_video.settings.effects import picked
from lit_video.tables.agreement import Agreement, Pair, agreement_of, row_pairs
from lit_video.tables.comparing import Comparison, TrainedRow, compare_rows, of_both_halves
from lit_video.tables.finishing import steps_to_begin
from lit_video.tables.reading import read_table, table_at
from lit_video.tables.results import measured_rows
from lit_video.tables.row_hits import RowHits, row_hits_of, row_predictions
from lit_video.tables.table import Row, Table

HALF = "half"  # file of the scale with half of the steps, in experiments/scale
OTHER = "_other"  # ending of the file that tests a scale's training persons, by models of its test persons
# parts of a row's first result that are written beside its numbers
OF_RESULT: tuple[str, ...] = ("params", "gmacs", "views", "reach", "sees_order", "sees_near", "blind_ceiling")
OF_RESULT += ("sum_ceilings", "two_frames_ceilings", "test_videos")


@dataclass(frozen=True)
class Numbers:
    """Numbers of a row in one metric, in percent."""

    paper: float | None = None
    ours: float | None = None  # mean over seeds
    std: float | None = None  # deviation over seeds, of two or more
    lowest: float | None = None  # lowest of the seeds

    @property
    def difference(self) -> float | None:
        """Our number less the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours - self.paper


@dataclass(frozen=True)
class RowSummary:
    """A row with its numbers."""

    name: str
    label: str  # name and remarks on its runs
    first: RunResult | None  # result of its first seed, which tells costs and limits; left out if the row was not run
    seconds: float | None  # time of training, mean over seeds
    seeds: Sequence[int]  # empty for a row that was not run
    commits: Sequence[str]
    metrics: Mapping[str, Numbers]
    begun: Mapping[str, Sequence[int | None]]  # steps to begin each skill, by seed, see finishing.steps_to_begin

    def numbers(self, metric: str) -> Numbers:
        """Return the numbers of a metric; empty ones if the row lacks it."""
        return self.metrics.get(metric, Numbers())

    def plain(self) -> dict[str, Any]:
        """Return the row as plain data, with the parts ``OF_RESULT`` of its first result."""
        of_row = asdict(self)
        first = of_row.pop("first")
        of_first = {name: getattr(first, name, None) for name in OF_RESULT}
        return {"name": self.name, "label": self.label} | of_first | of_row


@dataclass(frozen=True)
class DrawCount:
    """Number of independent draws of the test."""

    kind: str  # noun for a draw
    count: int


@dataclass(frozen=True)
class TableSummary:
    """A table with the paper's numbers and those of our runs."""

    table: str
    scale: str
    title: str
    source: str
    on_papers_data: bool  # whether our numbers can be compared with the paper's, not only the order of the rows
    metric: str  # the paper's
    compared: str  # metric by which our rows are compared
    terms: Sequence[str]  # optimizer, rate, length and start of the trainings
    rows: Sequence[RowSummary]
    reported: Sequence[RowSummary]  # methods that are not implemented here
    draws: DrawCount | None  # left out if they are unknown, or if each test video is a draw of its own
    agreement: Agreement
    pairs: Sequence[Pair]  # only pairs whose difference is known

    @property
    def labels(self) -> dict[str, str]:
        """Label of each row by its name."""
        return {row.name: row.label for row in self.rows}

    def plain(self) -> dict[str, Any]:
        """Return the summary as plain data, for JSON."""
        rows = [row.plain() for row in self.rows]
        return asdict(self) | {"rows": rows, "reported": [row.plain() for row in self.reported]}


@dataclass(frozen=True)
class TableRuns:
    """Finished runs of a table with their predictions, by row and seed."""

    table: Table  # at the runs' scale
    by_row: Mapping[str, Sequence[FinishedRun]]  # see results.measured_rows
    predictions: Mapping[str, Sequence[Predictions]]  # see row_hits.row_predictions
    row_hits: RowHits
    halves: Mapping[str, Sequence[FinishedRun]]  # runs of half of the steps, by row
    # the other half of the persons; left out if it was not run
    other: TableRuns | None = field(default=None, kw_only=True)

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
            value = row.numbers(self.row_hits.metric).ours
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
            compared=self.row_hits.metric,
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

    # runs of half of the steps lie beside a table's runs as those of another scale
    half = HALF if table.scale == read_table([table.path]).scale else f"{table.scale}+{HALF}"
    halves = measured_rows(replace(table, scale=half, settings={}), runs, seeds, overridden=True)

    other = None
    if (table.path.parent / "scale" / f"{table.scale}{OTHER}.yaml").is_file():
        at_other = table_at(table.path, f"{table.scale}+{table.scale}{OTHER}")
        other = read_runs(at_other, runs, seeds, overridden=overridden)
    return TableRuns(
        table,
        by_row,
        predictions,
        row_hits=row_hits_of(predictions, table.metric),
        halves=halves,
        other=other if other and other.finished else None,
    )


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

    begun: dict[str, list[int | None]] = {}
    for run in of_seeds:
        for skill, steps in steps_to_begin(run).items():
            begun.setdefault(skill, []).append(steps)

    texts = dict.fromkeys(chain.from_iterable(map(remarks, of_seeds)))
    return RowSummary(
        name=row.name,
        label=" ".join([row.label, *(f"({text})" for text in texts)]),
        first=of_seeds[0].result if of_seeds else None,
        seconds=mean(run.result.seconds for run in of_seeds) if of_seeds else None,
        seeds=[run.result.seed for run in of_seeds],
        commits=sorted({run.identity.commit for run in of_seeds}),
        metrics=metrics,
        begun=begun,
    )


def terms_of(run: FinishedRun) -> str:
    """Return how a run was trained: ``muon at 0.003, 768 steps of 16 clips, from stills:24576``; empty if unknown."""
    model = run.identity.settings.get("model", {}).get("init_args", {})
    optimization = model.get("optimization", {})
    if not optimization.keys() >= {"optimizer", "lr"}:  # a model with an optimizer of its own
        return ""
    start = model.get("weights") or model.get("image_weights")
    trained = f"{optimization['optimizer']} at {optimization['lr']:g}, {run.result.steps:,} steps"
    trained += f" of {run.result.global_batch} clips, {f'from {start}' if start else 'from scratch'}"
    if model.get("positions") in ("none", "space"):
        trained += ", no positions in time"
    return trained


def terms(labels: Mapping[str, str], runs: Mapping[str, Sequence[FinishedRun]]) -> list[str]:
    """Say how a table's rows were trained: one sentence if all were trained alike, else one for each group of rows.

    The sentence of the largest group comes first; the others name their rows.

    Args:
        labels: label of each row.
        runs: runs of each row, by seed.
    """
    alike: dict[str, list[str]] = {}
    for row, of_seeds in runs.items():
        if of_seeds and (trained := terms_of(of_seeds[0])):
            alike.setdefault(trained, []).append(labels[row])
    if not alike:
        return []

    (most, _), *others = sorted(alike.items(), key=lambda item: -len(item[1]))
    sentences = [f"Trained by {most}"]
    for trained, rows in others:
        sentences.append(f"{', '.join(rows)}: {trained}")
    return sentences
