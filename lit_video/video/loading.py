"""Order of training videos, each process's part of it, and a loader that measures how long the host waits for it."""

import atexit
import time
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, DistributedSampler

from lit_video.utils.arguments import Count, check_fields
from lit_video.video.clips import Key, Sample

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
        of_lesson = passes = 0  # places and passes of the lesson, of which the last pass may be cut short
        if self.lesson is not None:
            of_lesson = self.lesson_items // self.size
            passes = -(-of_lesson // len(self.lesson))

        for place in range(start // self.size, stop // self.size):
            if self.lesson is not None and place < of_lesson:
                number, video = _of_pass(self.lesson, place, self.seed)
            else:
                number, video = _of_pass(self.videos, place - of_lesson, self.seed, first=passes)

            yield number, video
            if self.reverses is not None:
                yield number, int(self.reverses[video])


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


class TrainingSampler(DistributedSampler[Sample]):
    """Sampler of ``(pass, video)`` for training, which cuts an endless order of videos into steps and equal epochs.

    An optimizer step takes the next ``batch_size * processes * accumulate`` items: ``accumulate`` batches for every
    process. So runs with the same product take the same items in a step, and with the same ``batch_size`` the same
    batches. An epoch has as many steps as the videos fill; what they do not fill comes first in the next one. Without
    ``set_epoch``, each iteration is the next epoch.

    Args:
        order: order of the videos.
        batch_size: items of a batch.
        ranks: number of processes, and this process's rank.
        accumulate: batches of a process in a step.
        resume: an epoch, and the number of its items that all ranks together have seen.
    """

    def __init__(
        self,
        order: TrainingOrder,
        batch_size: int,
        *,
        ranks: tuple[int, int] = (1, 0),
        accumulate: int = 1,
        resume: tuple[int, int] = (0, 0),
    ) -> None:
        items = order.size * len(order.videos)
        super().__init__(range(items), num_replicas=1, rank=0, seed=order.seed)  # type: ignore[arg-type]  # for a length
        self.order = order
        self.batch_size = batch_size
        self.ranks = ranks
        self.processes = ranks[0]
        self.accumulate = accumulate
        self.step_size = batch_size * ranks[0] * accumulate
        self.steps = items // self.step_size
        self.resume = resume
        self.epoch = resume[0]  # workers prefetch before Lightning sets the epoch

    def __iter__(self) -> Iterator[Key]:  # type: ignore[override]
        """Return this rank's part of the epoch, without the steps that ``resume`` counts as seen."""
        epoch = self.epoch
        self.epoch += 1
        first = epoch * self.steps
        resumed, seen = self.resume
        if epoch == resumed:
            first += seen // self.step_size  # an interrupted step starts over
        return self._keys(range(first, (epoch + 1) * self.steps))

    def _keys(self, steps: Iterable[int]) -> Iterator[Key]:
        """Yield this rank's items of some steps."""
        processes, rank = self.ranks
        for step in steps:
            for batch in range(self.accumulate):
                start = step * self.step_size + (batch * processes + rank) * self.batch_size
                yield from self.order.keys(start, start + self.batch_size)

    def __len__(self) -> int:
        return self.steps * self.step_size // self.ranks[0]


class EvaluationSampler(DistributedSampler[Sample]):
    """Sampler of ``(epoch, index)`` in the given order; ranks get equal numbers of items, padded with repeats."""

    def __init__(self, items: int, ranks: tuple[int, int] = (1, 0)) -> None:
        super().__init__(range(items), num_replicas=ranks[0], rank=ranks[1], shuffle=False)  # type: ignore[arg-type]
        self.processes = ranks[0]

    def __iter__(self) -> Iterator[Key]:  # type: ignore[override]
        for index in super().__iter__():
            yield self.epoch, int(index)  # type: ignore[call-overload]


def _end_workers(batches: Any) -> None:
    """End a loader's workers: a busy worker ignores PyTorch's SIGTERM, and would block the interpreter's exit."""
    batches._shutdown_workers()
    for worker in batches._workers:
        worker.kill()


class TimedLoader(DataLoader[Sample]):
    """Loader that counts in ``waited`` the seconds for which the host has waited for batches."""

    waited = 0.0
    _is_accelerate_prepared = False
    _ends: "weakref.finalize[..., Any] | None" = None

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]
        """Return an iterator over batches; the workers start at once."""
        batches = super().__iter__()
        if self.num_workers and not self._ends:
            # garbage collection may close the workers' queues first: PyTorch then waits 10 seconds for each worker
            self._ends = weakref.finalize(self, _end_workers, batches)
            atexit.register(self._ends)  # runs before PyTorch's exit function, after which workers cannot be ended
        return self._timed(batches)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, which has no workers to end."""
        return vars(self) | {"_ends": None}

    def _timed(self, batches: Iterable[Sample]) -> Iterator[Sample]:
        start = time.perf_counter()
        for batch in batches:
            self.waited += time.perf_counter() - start
            yield batch
            start = time.perf_counter()
