"""The videos of a split in a few arrays: 240,000 take 30 MB instead of 200, and workers share them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lit_video.video.clips import VideoRecord
from lit_video.video.shards import ShardPlace
from lit_video.video.texts import Texts


class Records(Sequence[VideoRecord]):
    """Records of videos, made anew each time one is taken out; equal to any sequence of the same.

    Args:
        paths: of the videos.
        labels: class numbers, ``(n,)``, or of several tasks ``(n, tasks)``.
        times: ``(n, 3)``, start, end and rate of each record, not a number where it has none; ``None`` if none has any.
        places: of all in shards; ``None`` for files and folders.
    """

    def __init__(
        self,
        paths: Texts,
        labels: NDArray[np.int32],
        times: NDArray[np.float64] | None = None,
        places: Places | None = None,
    ) -> None:
        self.paths = paths
        self.labels = labels
        self.times = times
        self.places = places

    @classmethod
    def of(cls, records: Iterable[VideoRecord]) -> Records:
        """Those of a list, all of which are in shards or none is."""
        if isinstance(records, cls):
            return records
        paths, labels, times, places = [], [], [], []
        for record in records:
            paths.append(str(record.path))
            labels.append(record.label)
            times.append((record.start, record.end, record.fps))
            places += [record.place] if record.place else []
        if len(places) not in {0, len(paths)}:
            raise ValueError(f"{len(places)} of {len(paths)} records are in shards, expected all or none")
        return cls.of_columns(paths, labels, times, Places.of(places) if places else None)

    @classmethod
    def of_columns(
        cls,
        paths: Iterable[str],
        labels: Sequence[int | tuple[int, ...]],
        times: Sequence[tuple[float | None, float | None, float | None]],
        places: Places | None = None,
    ) -> Records:
        """Those of paths, labels, and start, end and rate of each."""
        timed = any(value is not None for each in times for value in each)
        numbers = np.array(times, np.float64) if timed else None  # None becomes not a number
        return cls(Texts.of(paths), np.array(labels, np.int32), numbers, places)

    def __len__(self) -> int:
        return len(self.paths)

    @overload
    def __getitem__(self, index: int) -> VideoRecord: ...

    @overload
    def __getitem__(self, index: slice) -> list[VideoRecord]: ...

    def __getitem__(self, index: int | slice) -> VideoRecord | list[VideoRecord]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        label = self.labels[index].tolist()
        start, end, fps = self._times_of(index)
        place = self.places[index] if self.places else None
        path = Path(self.paths[index])
        return VideoRecord(path, tuple(label) if isinstance(label, list) else label, start, end, fps, place)

    def __eq__(self, other: object) -> bool:
        """Whether the records are those of another sequence, in its order."""
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def _times_of(self, index: int) -> list[float | None]:
        if self.times is None:
            return [None] * 3
        return [None if value != value else value for value in self.times[index].tolist()]

    def identities(self) -> Iterator[tuple[str, float | None, float | None]]:
        """Path, start and end of each, which no two of a data set share."""
        for index, path in enumerate(self.paths):
            start, end, _ = self._times_of(index)
            yield path, start, end

    def rates(self) -> list[float | None]:
        """Rate of each that is a folder of images."""
        return [self._times_of(index)[2] for index in range(len(self))]


class Places:
    """Where videos are in shards, in a few arrays.

    Args:
        shards: their paths or URLs.
        numbers: ``(n, 3)``, of each video its shard, and where its description starts and ends in it.
        broken: why each could not be written, empty where it could.
    """

    def __init__(self, shards: Sequence[str], numbers: NDArray[np.int64], broken: Texts) -> None:
        self.shards = shards
        self.numbers = numbers
        self.broken = broken

    @classmethod
    def of(cls, places: Sequence[ShardPlace]) -> Places:
        """Those of a list."""
        shards: dict[str, int] = {}
        numbers = [(shards.setdefault(each.shard, len(shards)), each.start, each.end) for each in places]
        return cls([*shards], np.array(numbers, np.int64), Texts.of(each.broken for each in places))

    def __getitem__(self, index: int) -> ShardPlace:
        shard, start, end = self.numbers[index].tolist()
        return ShardPlace(self.shards[shard], start, end, self.broken[index])


def relative(path: str | Path, root: str | Path) -> str:
    """A path as seen from the root, with slashes on every system."""
    text, start = str(path), os.path.join(str(root), "")
    rest = text.removeprefix(start)
    if os.sep == "/" and len(rest) < len(text) and "/../" not in f"/{rest}/":
        return rest  # the next line takes 20 times as long
    return Path(os.path.relpath(text, root)).as_posix()
