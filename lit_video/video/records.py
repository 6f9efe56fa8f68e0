"""The videos of a split in a few arrays: 240,000 take 30 MB instead of 200, and workers share them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lit_video.video.clips import VideoRecord
from lit_video.video.texts import Texts

_TIMES = ("start", "end", "fps")


class Records(Sequence[VideoRecord]):
    """Records of videos, made anew each time one is taken out; equal to any sequence of the same.

    Args:
        paths: of the videos.
        labels: class numbers, ``(n,)``, or of several tasks ``(n, tasks)``.
        times: ``(n, 3)``, start, end and rate of each record, not a number where it has none; ``None`` if none has any.
    """

    def __init__(self, paths: Texts, labels: NDArray[np.int32], times: NDArray[np.float64] | None = None) -> None:
        self.paths = paths
        self.labels = labels
        self.times = times

    @classmethod
    def of(cls, records: Iterable[VideoRecord]) -> Records:
        """Those of a list."""
        if isinstance(records, cls):
            return records
        paths, labels, times = [], [], []
        for record in records:
            paths.append(str(record.path))
            labels.append(record.label)
            times.append((record.start, record.end, record.fps))
        return cls.of_columns(paths, labels, times)

    @classmethod
    def of_columns(
        cls,
        paths: Iterable[str],
        labels: Sequence[int | tuple[int, ...]],
        times: Sequence[tuple[float | None, float | None, float | None]],
    ) -> Records:
        """Those of paths, labels, and start, end and rate of each."""
        timed = any(value is not None for each in times for value in each)
        numbers = np.array(times, np.float64) if timed else None  # None becomes not a number
        return cls(Texts.of(paths), np.array(labels, np.int32), numbers)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> VideoRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[VideoRecord]: ...

    def __getitem__(self, index: int | slice) -> VideoRecord | list[VideoRecord]:
        """One record, or a list of some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        label = self.labels[index].tolist()
        return VideoRecord(
            Path(self.paths[index]), tuple(label) if isinstance(label, list) else label, *self._times_of(index)
        )

    def __eq__(self, other: object) -> bool:
        """Whether the records are those of another sequence, in its order."""
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def _times_of(self, index: int) -> list[float | None]:
        if self.times is None:
            return [None] * len(_TIMES)
        return [None if value != value else value for value in self.times[index].tolist()]

    def identities(self) -> Iterator[tuple[str, float | None, float | None]]:
        """Path, start and end of each, which no two of a data set share."""
        if self.times is None:
            yield from ((path, None, None) for path in self.paths)
            return
        for index, path in enumerate(self.paths):
            start, end, _ = self._times_of(index)
            yield path, start, end

    def rates(self) -> list[float | None]:
        """Rate of each that is a folder of images."""
        return (
            [self._times_of(index)[-1] for index in range(len(self))] if self.times is not None else [None] * len(self)
        )


def relative(path: str | Path, root: str | Path) -> str:
    """A path as seen from the root, with slashes on every system."""
    text, start = str(path), os.path.join(str(root), "")
    rest = text.removeprefix(start)
    if os.sep == "/" and len(rest) < len(text) and "/../" not in f"/{rest}/":
        return rest  # the next line takes 20 times as long
    return Path(os.path.relpath(text, root)).as_posix()
