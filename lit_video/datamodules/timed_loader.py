"""A loader that knows how long was waited for it."""

import time
from collections.abc import Iterable, Iterator

from torch.utils.data import DataLoader

from lit_video.video.clips import Sample


class TimedLoader(DataLoader[Sample]):
    """Adds up, in ``waited``, the seconds that the host has spent in ``next``: those without a batch to go on with."""

    waited = 0.0

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]
        """Batches; workers begin at once."""
        return self._timed(super().__iter__())

    def _timed(self, batches: Iterable[Sample]) -> Iterator[Sample]:
        start = time.perf_counter()
        for batch in batches:
            self.waited += time.perf_counter() - start
            yield batch
            start = time.perf_counter()
