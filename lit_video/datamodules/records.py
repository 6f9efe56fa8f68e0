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
    """Records of videos, stored in arrays: 240,000 records take 30 MB instead of 200.

    A record is made when it is read. Forked workers share the memory, since reading changes no reference counts. Two
    sequences are equal if their records are.

    Args:
        paths: paths of the videos.
        labels: ``(n,)``, or ``(n, tasks)`` with several tasks.
        times: start, end and frame rate of each record, ``(n, 3)``.
        backwards: whether each video is played backwards; empty if none is.
    """

    def __init__(
        self,
        paths: Iterable[str],
        labels: Sequence[int | tuple[int, ...]],
        times: Sequence[tuple[float | None, float | None, float | None]] = (),
        backwards: Sequence[bool] = (),
    ) -> None:
        self._paths: NDArray[np.bytes_] = np.array([to_bytes(path) for path in paths], np.bytes_)
        self.labels = np.array(labels, np.int32)
        self._times = np.array(times, np.float64)  # NaN: no time
        if np.isnan(self._times).all():
            self._times = np.broadcast_to(np.nan, (len(self), 3))  # takes no memory
        self.backwards: NDArray[np.bool_] = np.array(backwards, np.bool_)
        if not self.backwards.any():
            self.backwards = np.broadcast_to(np.False_, len(self))

    @classmethod
    def of(cls, records: Iterable[VideoRecord], path: Callable[[str], str] = str) -> Records:
        """Store records as arrays, with ``path`` applied to each path; return :class:`Records` as they are."""
        if isinstance(records, cls):
            return records

        paths: list[str] = []
        labels: list[int | tuple[int, ...]] = []
        times: list[tuple[float | None, float | None, float | None]] = []
        backwards: list[bool] = []
        for record in records:
            paths.append(path(str(record.path)))
            labels.append(record.label)
            times.append((record.start, record.end, record.fps))
            backwards.append(record.backwards)
        return cls(paths, labels, times, backwards)

    def played_backwards(self, labels: Sequence[int]) -> Records:
        """Return these videos and then each again, played in the other direction, with the labels of that direction."""
        times = np.concatenate((self._times, self._times)).tolist()
        both = [*self.labels.tolist(), *labels]
        return Records([*self.paths, *self.paths], both, times, [*self.backwards, *~self.backwards])

    @property
    def paths(self) -> list[str]:
        """Paths of all videos."""
        return [to_text(path) for path in self._paths.tolist()]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> VideoRecord:  # type: ignore[override]  # no slices
        path = Path(to_text(self._paths[index]))
        start, end, fps = _or_none(self._times[index])
        backwards = bool(self.backwards[index])
        return VideoRecord(path, self.label(index), start=start, end=end, fps=fps, backwards=backwards)

    def label(self, index: int) -> int | tuple[int, ...]:
        """Return a record's label."""
        label: int | list[int] = self.labels[index].tolist()
        return tuple(label) if isinstance(label, list) else label

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    def identities(self) -> Iterable[tuple[str, float | None, float | None]]:
        """Return path, start and end of each record; no two records of a data set share all three."""
        starts = _or_none(self._times[:, 0])
        ends = _or_none(self._times[:, 1])
        return zip(self.paths, starts, ends, strict=True)

    def shared(self, other: Records, real: Callable[[str], str] = str) -> list[str]:
        """Return the paths of videos that overlap one in ``other``; ``real`` is applied to paths before comparison."""
        spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for path, start, end in other.identities():
            spans[real(path)].append(_span(start, end))

        shared: list[str] = []
        for path, start, end in self.identities():
            begin, stop = _span(start, end)
            others = spans.get(real(path), ())
            if any(begin < other_stop and other_begin < stop for other_begin, other_stop in others):
                shared.append(path)
        return shared


def _span(start: float | None, end: float | None) -> tuple[float, float]:
    """Return start and end of a video's segment in seconds, infinite if it has no end."""
    return start or 0.0, math.inf if end is None else end


def _or_none(times: NDArray[np.float64]) -> list[float | None]:
    """Return times, with ``None`` for missing ones."""
    numbers = times.astype(object)
    numbers[np.isnan(times)] = None
    return [*numbers]


def relative(path: str | Path, root: str | Path) -> str:
    """Return a path relative to the root, with slashes on every system."""
    text = str(path)
    start = os.path.join(str(root), "")
    rest = text.removeprefix(start)
    if os.sep == "/" and len(rest) < len(text) and "/../" not in f"/{rest}/":
        return rest  # relpath takes 20 times as long
    return Path(os.path.relpath(text, root)).as_posix()


@rank_zero_only
@cache
def print_once(line: str) -> None:
    """Print a line to stderr, but only the first time that a process calls it with this line."""
    _logger.log(ASIDE, printable(line))
