"""Samplers, which choose each process's clips, and a loader that measures how long the host waits for batches."""

import atexit
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader, DistributedSampler

from lit_video.video.clips import Key, Sample
from lit_video.video.training_order import TrainingOrder


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
