"""Summary of a table: the paper's numbers beside those of our runs, and the order of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Forbidden = Literal["not run", "one seed", "unfinished", "not testable here"]  # states without a verdict
OrderVerdict = Literal["supported", "contradicted", "undecided", "by construction", Forbidden]


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
    """A row: its costs and limits, as its first seed recorded them, and its numbers; ``None`` where one is unknown."""

    name: str
    label: str  # with remarks on its runs
    params: int | None
    gmacs: float | None  # multiply-adds of a view, 10^9
    views: int | None
    reach: int | None
    sees_order: bool | None
    sees_near: bool | None
    blind_ceiling: float | None
    sum_ceilings: Mapping[str, float] | None
    two_frames_ceilings: Mapping[str, float] | None
    test_videos: int | None
    seconds: float | None  # time of training, mean over seeds
    seeds: Sequence[int]  # empty for a row that was not run
    commits: Sequence[str]
    metrics: Mapping[str, Numbers]

    def numbers(self, metric: str) -> Numbers:
        """Return the numbers of a metric; empty ones if the row lacks it."""
        return self.metrics.get(metric, Numbers())


@dataclass(frozen=True)
class Pair:
    """Two rows that were run; ``first`` is the one that the paper puts higher, or our runs if the paper orders neither.

    Differences are ``first`` minus ``second``, in points.
    """

    first: str
    second: str
    paper: float | None = None  # the paper's difference
    verdict: OrderVerdict | None = None  # on the paper's order; None if the paper has none
    difference: float | None = None  # our paired difference; None without predictions
    low: float | None = None  # interval of our difference; None without one
    high: float | None = None
    skills: Sequence[str] = ()  # skills that both rows can tell; empty for all of the test's


@dataclass(frozen=True)
class Agreement:
    """Agreement of our runs with the paper's order of the rows."""

    tau: float | None  # Kendall's tau
    rows: int  # rows that both have
    supported: int
    contradicted: int
    undecided: int
    without: Mapping[str, int]  # orderings that have no verdict, by why
    orderings: Sequence[Pair]  # pairs that the paper orders


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
        return asdict(self)
