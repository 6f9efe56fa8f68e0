"""Work on many files: one process per usable core, or threads that wait for a disk, with progress."""

import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool
from typing import TypeVar

from lit_video.errors import UserError
from lit_video.utils.messages import ASIDE, are_shown
from lit_video.utils.processes import end_with, ignore_stops, usable_cores
from lit_video.utils.text import time_left

_logger = logging.getLogger(__name__)

FIRST_LINE_AFTER = 3.0  # seconds of work until the first progress line without a terminal
EVERY = 30.0  # seconds between later ones
Item = TypeVar("Item")
Result = TypeVar("Result")


def with_progress(results: Iterable[Result], total: int, name: str) -> Iterator[Result]:
    """Yield results; show on stderr how many of ``total`` are done and the time left, as a bar on a terminal.

    Elsewhere a line is printed every half minute; the first one comes after a few seconds of work.
    """
    if sys.stderr.isatty() and are_shown():
        from rich.console import Console
        from rich.progress import track

        yield from track(results, name, total, console=Console(stderr=True), transient=True)
        return

    start = time.monotonic()
    next_line = start + FIRST_LINE_AFTER
    has_reported = False
    for done, result in enumerate(results, 1):
        yield result

        now = time.monotonic()
        if done < total and now >= next_line:
            next_line = now + EVERY
            has_reported = True
            remaining = time_left((total - done) * (now - start) / done)
            _logger.log(ASIDE, f"{name}: {done} of {total}, {remaining}")
        elif done == total and has_reported:
            _logger.log(ASIDE, f"{name}: {done} of {total}")


@contextmanager
def joined_threads(count: int) -> Iterator[ThreadPool]:
    """Yield a pool of threads for work that waits for a disk; all have ended when it is left.

    A plain ``ThreadPool`` does not wait for its threads at the end of its block.
    """
    pool = ThreadPool(count)
    try:
        yield pool
    finally:
        pool.terminate()
        pool.join()


def in_parallel(
    work: Callable[[Item], Result], items: Sequence[Item], name: str, *, chunk: int = 1
) -> Iterator[Result]:
    """Yield results in the order of the items, each as soon as it and all earlier ones are done.

    ``work`` is pickled, so it must be a module's function. If an item is a tuple, messages name its first value.
    Processes receive ``chunk`` items at a time; choose more than one if an item takes milliseconds.
    """
    if not items:
        return

    # processes are forked, like a loader's workers, so that they import nothing again
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(usable_cores(), context, initializer=_start_worker, initargs=(os.getpid(),))
    done = 0
    try:
        # pool.map forks all processes before with_progress starts a thread
        results = pool.map(work, items, chunksize=chunk)
        for result in with_progress(results, len(items), name):
            done += 1
            yield result
    except BrokenProcessPool:
        item = items[done]
        label = item[0] if isinstance(item, tuple) else item
        reason = f"a process died, out of memory or by a crash, at {label} or soon after it"
        raise UserError(f"{name}: {reason}; what is done is kept") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(parent: int) -> None:
    ignore_stops()
    end_with(parent)
