"""Rows of a table that were tested on the same videos: which videos each has right, and the rows' differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lit_video.runs.folder import FinishedRun
from lit_video.runs.predictions import DIRECTION, Draws, Predictions, read_predictions
from lit_video.tables.statistics import Hits, Interval, Spread, paired_difference, pooled_spread
from lit_video.tables.table import METRIC, Table


@dataclass(frozen=True)
class RowHits:
    """Hits of the rows on the same test videos, which of these videos are one draw, and their skills."""

    hits: Mapping[str, Hits] = field(default_factory=dict)
    draws: Draws | None = None  # left out if each video is a draw of its own
    skill: NDArray[np.str_] | None = None  # name of each video's skill, (videos,); left out without directions
    metric: str = METRIC  # metric that counts the hits

    @cached_property
    def pooled(self) -> Spread | None:
        """Spread over seeds, pooled over the rows."""
        return pooled_spread(np.array(seeds, np.float64).mean(1) for seeds in self.hits.values())

    @property
    def skills(self) -> frozenset[str]:
        """Names of the test's skills; none if its classes have no directions."""
        return frozenset() if self.skill is None else frozenset(self.skill.tolist())

    def of(self, skills: frozenset[str]) -> "RowHits":
        """Return the hits on the videos of some skills: of all rows, because these pool their spread over seeds."""
        if self.skill is None:
            raise ValueError("the classes of these videos have no opposites, so no skills")
        kept = np.flatnonzero(np.isin(self.skill, list(skills)))
        hits = {row: [seed[kept] for seed in of_seeds] for row, of_seeds in self.hits.items()}
        draws = self.draws.of(kept) if self.draws else None
        return RowHits(hits, draws, self.skill[kept], self.metric)

    def difference(self, first: str, second: str) -> Interval | None:
        """Return the paired difference of two rows; ``None`` if the hits of one are unknown."""
        if first not in self.hits or second not in self.hits:
            return None
        groups = self.draws.number if self.draws else None
        return paired_difference(self.hits[first], self.hits[second], groups=groups, pooled=self.pooled)

    def accuracies(self, row: str) -> list[float]:
        """Return a row's accuracy in percent by seed; empty if its hits are unknown."""
        return [100 * float(np.mean(seed)) for seed in self.hits.get(row, ())]


def row_predictions(table: Table, runs: Mapping[str, Sequence[FinishedRun]]) -> dict[str, list[Predictions]]:
    """Return predictions by row and seed; leave out rows without them, or tested on other videos than the first row."""
    by_row: dict[str, list[Predictions]] = {}
    first: Predictions | None = None
    for row in table.rows:
        of_seeds = []
        for run in runs[row.name]:
            predictions = read_predictions(run.folder, run.result)
            if predictions:
                of_seeds.append(predictions)
        if not of_seeds or len(of_seeds) < len(runs[row.name]):
            continue

        first = first or of_seeds[0]
        if all(_same_test(predictions, first) for predictions in of_seeds):
            by_row[row.name] = of_seeds
    return by_row


def row_hits_of(by_row: Mapping[str, Sequence[Predictions]], metric: str) -> RowHits:
    """Return whether each video is right, by row and seed: in its direction if every run has it, else by ``metric``.

    Top-1 over classes that are a skill and a direction would mix two abilities: to recognise the skill, a model need
    not know the order of the frames. There are no hits for metrics that do not count right videos of the whole test:
    others than top-1 and direction.
    """
    every = [predictions for of_seeds in by_row.values() for predictions in of_seeds]
    if every and all(predictions.has_directions for predictions in every):
        metric = DIRECTION
    if metric != DIRECTION and not (metric.startswith("test/") and metric.endswith("_top1")):
        return RowHits(metric=metric)

    skills = [task.skill for predictions in every for task in predictions.tasks.values() if metric == DIRECTION]
    return RowHits(
        hits={name: [predictions.hits(metric) for predictions in of_seeds] for name, of_seeds in by_row.items()},
        draws=next((predictions.draws for predictions in every if predictions.draws), None),
        skill=next(iter(skills), None),
        metric=metric,
    )


def _same_test(first: Predictions, second: Predictions) -> bool:
    """Return whether the same videos were tested with the same labels, and with the same draws if both know them."""
    if first.tasks.keys() != second.tasks.keys() or not np.array_equal(first.video, second.video):
        return False
    if first.draws and second.draws and first.draws != second.draws:
        return False
    return all(np.array_equal(task.target, second.tasks[name].target) for name, task in first.tasks.items())
