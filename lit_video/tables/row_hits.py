"""Rows of a table that were tested on the same videos, and their differences."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lit_video.runs.predictions import Draws
from lit_video.tables.statistics import Hits, Interval, Spread, paired_difference, pooled_spread


@dataclass(frozen=True)
class RowHits:
    """Hits of the rows on the same test videos, which of these videos are one draw, and their skills."""

    hits: Mapping[str, Hits] = field(default_factory=dict)
    draws: Draws | None = None  # left out if each video is a draw of its own
    skill: NDArray[np.str_] | None = None  # name of each video's skill, (videos,); left out without directions

    @property
    def skills(self) -> frozenset[str]:
        """Skills of the test."""
        return frozenset() if self.skill is None else frozenset(map(str, self.skill))

    @cached_property
    def pooled(self) -> Spread | None:
        """Spread over seeds, pooled over the rows."""
        return pooled_spread(np.array(seeds, np.float64).mean(1) for seeds in self.hits.values())

    def of(self, skills: Collection[str]) -> "RowHits":
        """Return the hits on the videos of some skills."""
        if self.skill is None:
            raise ValueError("the classes of these videos have no opposites, so no skills")
        kept = np.flatnonzero(np.isin(self.skill, list(skills)))
        hits = {row: [seed[kept] for seed in of_seeds] for row, of_seeds in self.hits.items()}
        return RowHits(hits, self.draws.of(kept) if self.draws else None, self.skill[kept])

    def difference(self, first: str, second: str) -> Interval | None:
        """Return the paired difference of two rows; ``None`` if the hits of one are unknown."""
        if first not in self.hits or second not in self.hits:
            return None
        groups = self.draws.number if self.draws else None
        return paired_difference(self.hits[first], self.hits[second], groups=groups, pooled=self.pooled)

    def accuracies(self, row: str) -> list[float]:
        """Return a row's accuracy in percent by seed; empty if its hits are unknown."""
        return [100 * float(np.mean(seed)) for seed in self.hits.get(row, ())]
