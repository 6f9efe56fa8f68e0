"""How far a piece of work is: a bar on a terminal, a line now and then elsewhere. Imports no torch."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Result = TypeVar("Result")


def with_progress(results: Iterable[Result], total: int, name: str, every: float = 10.0) -> Iterator[Result]:
    """Results as they come, and on stderr how many of them there are.

    Args:
        results: of the work.
        total: how many there will be.
        name: of the work.
        every: seconds between lines; work that takes less has none.
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        yield from track(results, name, total, console=Console(stderr=True), transient=True)
        return
    start = last = time.monotonic()
    for done, result in enumerate(results, 1):
        yield result
        now = time.monotonic()
        if now - last >= every or (done == total and last > start):
            last = now
            rate = done / max(now - start, 1e-9)
            left = f"{rate:.1f} per second, {(total - done) / rate:.0f} s left"
            print(f"{name}: {done}/{total}, {left}", file=sys.stderr, flush=True)
