"""The tables used last, of bounded size."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class TableCache(Generic[T]):
    """Keeps the tables used last, so that a worker's memory stays flat whatever number and length of videos it sees.

    The bound is on times, 8 bytes each, as one hour of video has as many as a thousand short clips; 4 million are
    about 32 MiB. A table itself counts as 256 of them, for what it holds beside.

    Args:
        times: to be kept at most, of all tables together.
    """

    def __init__(self, times: int = 4_000_000) -> None:
        self.times = times
        self._tables: OrderedDict[Path, tuple[T, int]] = OrderedDict()
        self._held = 0

    def get(self, path: Path) -> T | None:
        """The table of a video, if it is there."""
        if path not in self._tables:
            return None
        self._tables.move_to_end(path)
        return self._tables[path][0]

    def put(self, path: Path, table: T, times: int) -> None:
        """Keep a table that has so many times; those not used for longest go."""
        self._tables[path] = (table, times + 256)
        self._held += times + 256
        while self._held > self.times and len(self._tables) > 1:
            self._held -= self._tables.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forget all tables."""
        self._tables.clear()
        self._held = 0
