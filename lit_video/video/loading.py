"""Samplers: a process's clips in order, a function of (seed, epoch); the same set per step on any devices."""

import atexit
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import DataLoader, DistributedSampler

from lit_video.video.clips import Key, Sample


class TrainingSampler(DistributedSampler[Sample]):
    """Yields ``(epoch, index)`` of training, shuffled.

    An optimizer step takes the order's next ``batch_size * ranks * accumulate`` items, batch by batch: the first of
    every rank, then the second of every rank, up to ``accumulate``. So a step's items, and with one ``batch_size`` each
    of its batches, are the same on any number of processes. Clips that do not fill a step are left out of the epoch.
    For a ``DistributedSampler`` Lightning calls ``set_epoch``, and injects none of its own. ``ranks`` are the number of
    processes and the rank of this one.
    """

    def __init__(
        self, items: int, seed: int, batch_size: int, ranks: tuple[int, int] = (1, 0), accumulate: int = 1
    ) -> None:
        super().__init__(range(items), num_replicas=1, rank=0, seed=seed)  # type: ignore[arg-type]  # its length is read
        self.batch_size = batch_size
        self.ranks = ranks
        self.step_size = batch_size * ranks[0] * accumulate
        self.steps = items // self.step_size
        self.resume: tuple[int, int] = (0, 0)  # an epoch, and how many of its items all ranks have seen

    def __iter__(self) -> Iterator[Key]:  # type: ignore[override]
        """Yield this rank's part of the epoch; steps that the checkpoint of ``resume`` has seen are left out."""
        epoch, seen = self.resume
        order = list(super().__iter__())
        whole = seen // self.step_size * self.step_size  # a step that was interrupted starts over
        start = (whole if epoch == self.epoch else 0) + self.ranks[1] * self.batch_size
        for first in range(start, self.steps * self.step_size, self.ranks[0] * self.batch_size):
            yield from ((self.epoch, int(i)) for i in order[first : first + self.batch_size])  # type: ignore[call-overload]

    def __len__(self) -> int:
        return self.steps * self.step_size // self.ranks[0]


class EvaluationSampler(DistributedSampler[Sample]):
    """Yields ``(epoch, index)`` in the given order; ranks get equal numbers of items, the last ones some twice."""

    def __init__(self, items: int, ranks: tuple[int, int] = (1, 0)) -> None:
        super().__init__(range(items), num_replicas=ranks[0], rank=ranks[1], shuffle=False)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Key]:  # type: ignore[override]
        yield from ((self.epoch, int(i)) for i in super().__iter__())  # type: ignore[call-overload]


def _end_workers(batches: Any) -> None:
    """End a loader's workers; one that is busy ignores PyTorch's SIGTERM, and the interpreter would wait for it."""
    batches._shutdown_workers()
    for worker in batches._workers:
        worker.kill()


class TimedLoader(DataLoader[Sample]):
    """A loader that adds up in ``waited`` the seconds that the host has waited for batches."""

    waited = 0.0
    _ends: "weakref.finalize[..., Any] | None" = None

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]
        """Yield batches; workers begin at once."""
        batches = super().__iter__()
        if self.num_workers and not self._ends:
            # a garbage collector may close the workers' queues first: PyTorch then waits 10 seconds for each worker
            self._ends = weakref.finalize(self, _end_workers, batches)
            atexit.register(self._ends)  # runs before PyTorch's own function, after which no worker can be told to end
        return self._timed(batches)

    def _timed(self, batches: Iterable[Sample]) -> Iterator[Sample]:
        start = time.perf_counter()
        for batch in batches:
            self.waited += time.perf_counter() - start
            yield batch
            start = time.perf_counter()
