"""Compact records of a split's videos, and lines printed once for the user."""

from __future__ import annotations

import logging
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from lightning.pytorch.utilities import rank_zero_only
from numpy.typing import NDArray

from lit_video.utils.messages import ASIDE
from lit_video.utils.text import printable, to_bytes, to_text
from lit_video.video.clips import VideoRecord

_logger = logging.getLogger(__name__)


class Records(Sequence[VideoRecord]):
    """Records of videos, stored in arrays; a record is made on access. They equal any sequence of the same records.

    240,000 records take 30 MB instead of 200. Forked workers share the memory, because no reference counts are written.
    ``labels``: ``(n,)``, or ``(n, tasks)`` with several tasks. ``times``: start, end and frame rate of each record.
    """

    def __init__(
        self,
        paths: Iterable[str],
        labels: Sequence[int | tuple[int, ...]],
        times: Sequence[tuple[float | None, float | None, float | None]] = (),
    ) -> None:
        self._paths: NDArray[np.bytes_] = np.array([*map(to_bytes, paths)], np.bytes_)
        self.labels = np.array(labels, np.int32)
        self._times = np.array(times, np.float64)  # NaN: no time
        if np.isnan(self._times).all():
            self._times = np.broadcast_to(np.nan, (len(self), 3))  # takes no memory

    @classmethod
    def of(cls, records: Iterable[VideoRecord], path: Callable[[str], str] = str) -> Records:
        """Store records as arrays, with ``path`` applied to each path; return :class:`Records` as they are."""
        if isinstance(records, cls):
            return records
        paths, labels, times = [], [], []
        for record in records:
            paths.append(path(str(record.path)))
            labels.append(record.label)
            times.append((record.start, record.end, record.fps))
        return cls(paths, labels, times)

    @property
    def paths(self) -> list[str]:
        """Paths of all videos."""
        return [*map(to_text, self._paths.tolist())]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> VideoRecord:  # type: ignore[override]  # no slices
        return VideoRecord(Path(to_text(self._paths[index])), self.label(index), *_given(self._times[index]))

    def label(self, index: int) -> int | tuple[int, ...]:
        """Return a record's label."""
        label: int | list[int] = self.labels[index].tolist()
        return tuple(label) if isinstance(label, list) else label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def identities(self) -> Iterable[tuple[str, float | None, float | None]]:
        """Return path, start and end of each record; no two records of a data set share all three."""
        return zip(self.paths, _given(self._times[:, 0]), _given(self._times[:, 1]), strict=True)

    def shared(self, other: Records, real: Callable[[str], str] = str) -> list[str]:
        """Return the paths of videos that overlap one in ``other``; ``real`` is applied to paths before comparison."""
        parts, both = defaultdict(list), []
        for path, start, end in other.identities():
            parts[real(path)].append((start or 0.0, math.inf if end is None else end))
        for path, start, end in self.identities():
            if any((start or 0.0) < stop and (end is None or begin < end) for begin, stop in parts.get(real(path), ())):
                both.append(path)
        return both


def _given(times: NDArray[np.float64]) -> list[float | None]:
    """Return times, with ``None`` for missing ones."""
    given = times.astype(object)
    given[np.isnan(times)] = None
    return [*given]


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
    """Print a line to stderr, once per process however often it is called with this line."""
    _logger.log(ASIDE, printable(line))
