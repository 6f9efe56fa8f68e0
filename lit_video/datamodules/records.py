"""Compact records of a split's videos, and lines printed once for the user."""

from __future__ import annotations

import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from lightning.pytorch.utilities import rank_zero_only
from numpy.typing import NDArray

from lit_video.utils.text import printable, to_bytes, to_text
from lit_video.video.clips import VideoRecord


class Records(Sequence[VideoRecord]):
    """Records of videos in arrays, each made on access; equal to any sequence of the same records.

    240,000 records take 30 MB instead of 200. Forked workers share the memory: no reference counts are written to it.
    ``labels``: ``(n,)``, or ``(n, tasks)`` with several tasks. ``times``: start, end and frame rate of each record.
    """

    def __init__(
        self,
        paths: Iterable[str],
        labels: Sequence[int | tuple[int, ...]],
        times: Sequence[tuple[float | None, float | None, float | None]] = (),
    ) -> None:
        timed = any(value is not None for each in times for value in each)
        self._paths: NDArray[np.bytes_] = np.array([to_bytes(path) for path in paths], np.bytes_)
        self.labels = np.array(labels, np.int32)
        self._times = np.array(times, np.float64) if timed else None  # NaN where a record has no time

    @classmethod
    def of(cls, records: Iterable[VideoRecord], path: Callable[[str], str] = str) -> Records:
        """Convert records to arrays, with ``path`` applied to their paths; return arrays unchanged."""
        if isinstance(records, cls):
            return records
        listed = [*records]
        times = [(record.start, record.end, record.fps) for record in listed]
        return cls((path(str(record.path)) for record in listed), [record.label for record in listed], times)

    @property
    def paths(self) -> list[str]:
        """Paths of all videos."""
        return [to_text(path) for path in self._paths.tolist()]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> VideoRecord:  # type: ignore[override]  # no slices
        label = self.labels[index].tolist()
        path = Path(to_text(self._paths[index]))
        return VideoRecord(path, tuple(label) if isinstance(label, list) else label, *self._times_of(index))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def _times_of(self, index: int) -> list[float | None]:
        if self._times is None:
            return [None] * 3
        return [None if value != value else value for value in self._times[index].tolist()]

    def identities(self) -> Iterator[tuple[str, float | None, float | None]]:
        """Yield path, start and end of each record; no two records of a data set share all three."""
        for index, path in enumerate(self.paths):
            start, end, _ = self._times_of(index)
            yield path, start, end

    def shared(self, other: Records, links: bool = False) -> list[str]:
        """Return the paths of videos that overlap one in ``other``; ``links`` resolves symbolic links first."""
        real = os.path.realpath if links else str
        parts = defaultdict(list)
        for path, start, end in other.identities():
            parts[real(path)].append((start or 0.0, math.inf if end is None else end))
        return [
            path
            for path, start, end in self.identities()
            if any((start or 0.0) < stop and (end is None or begin < end) for begin, stop in parts.get(real(path), ()))
        ]


def relative(path: str | Path, root: str | Path) -> str:
    """Return a path relative to the root, with slashes on every system."""
    text, start = str(path), os.path.join(str(root), "")
    rest = text.removeprefix(start)
    if os.sep == "/" and len(rest) < len(text) and "/../" not in f"/{rest}/":
        return rest  # relpath takes 20 times as long
    return Path(os.path.relpath(text, root)).as_posix()


@rank_zero_only
@cache
def print_once(line: str) -> None:
    """Print a line to stderr once per process, even if settings are checked several times."""
    print(printable(line), file=sys.stderr, flush=True)
