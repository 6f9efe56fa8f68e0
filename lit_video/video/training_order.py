"""Order of training videos: an endless seeded sequence, of which an optimizer step takes the next items."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lit_video.utils.arguments import Count, check_fields
from lit_video.video.clips import Key

VideoNumbers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Lesson:
    """First lesson of a training: some classes for some optimizer steps; then the videos of all classes follow."""

    classes: tuple[str, ...]  # names of classes; the model has all classes from the first step
    steps: Count  # optimizer steps

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.classes:
            raise ValueError("lesson.classes is empty, expected names of classes")


@dataclass(frozen=True, eq=False)
class TrainingOrder:
    """Endless seeded sequence of videos: the first ``lesson_items`` are a lesson's videos, then all follow.

    A pass shows every video once, shuffled by seed and number of the pass; the next pass follows at once. With
    ``reverses`` a film, at an even place, is followed by its reverse: the same film played backwards.
    """

    videos: VideoNumbers  # all videos by number; with ``reverses`` one of each film's two
    seed: int
    _: KW_ONLY
    reverses: VideoNumbers | None = None  # for every video the number of its reverse
    lesson: VideoNumbers | None = None  # the part of ``videos`` that the lesson shows
    lesson_items: int = 0

    @property
    def size(self) -> int:
        """Items that are shuffled together: a film and its reverse, or one video."""
        return 1 if self.reverses is None else 2

    def keys(self, start: int, stop: int) -> Iterator[Key]:
        """Yield pass and video of the items from ``start`` to ``stop``, multiples of ``size``."""
        for place in range(start // self.size, stop // self.size):
            number, video = self._at(place)
            yield number, video
            if self.reverses is not None:
                yield number, int(self.reverses[video])

    def _at(self, place: int) -> Key:
        """Return the number of the pass and the video at a place of the sequence, counted without reverses."""
        if self.lesson is None:
            return _of_pass(self.videos, place, self.seed)

        of_lesson = self.lesson_items // self.size
        if place < of_lesson:
            return _of_pass(self.lesson, place, self.seed)
        passes = -(-of_lesson // len(self.lesson))  # the last one may be cut short
        return _of_pass(self.videos, place - of_lesson, self.seed, first=passes)


def _of_pass(videos: VideoNumbers, place: int, seed: int, first: int = 0) -> Key:
    """Return pass and video at a place of an endless sequence of passes, which are numbered from ``first``."""
    passes, index = divmod(place, len(videos))
    number = first + passes
    return number, int(videos[_shuffled(len(videos), seed + number)[index]])


@lru_cache(maxsize=4)
def _shuffled(count: int, seed: int) -> VideoNumbers:
    """Return the numbers from 0 in random order."""
    order: VideoNumbers = torch.randperm(count, generator=torch.Generator().manual_seed(seed)).numpy()
    return order
