"""A loader that knows how long was waited for it."""

import time
import weakref
from collections.abc import Iterable, Iterator

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from lit_video.video.clips import Sample


class TimedLoader(DataLoader[Sample]):
    """Adds up, in ``waited``, the seconds that the host has spent in ``next``: those without a batch to go on with."""

    waited = 0.0

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]
        """Batches; workers begin at once."""
        first = self._iterator is None
        batches = super().__iter__()
        if first and isinstance(batches, _MultiProcessingDataLoaderIter):
            # a garbage collector that finds loader and workers' queues together closes the queues first: the workers,
            # which ignore SIGTERM, would not hear that they are to end, and be waited for, 10 seconds each
            weakref.finalize(self, batches._shutdown_workers)
        return self._timed(batches)

    def _timed(self, batches: Iterable[Sample]) -> Iterator[Sample]:
        start = time.perf_counter()
        for batch in batches:
            self.waited += time.perf_counter() - start
            yield batch
            start = time.perf_counter()
