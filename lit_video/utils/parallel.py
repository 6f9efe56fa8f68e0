"""Work on many files in one process per usable core, with a bar on a terminal and a line now and then elsewhere."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from lit_video.errors import UserError
from lit_video.utils.processes import end_with, ignore_stops, usable_cores
from lit_video.utils.progress import with_progress

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item], name: str, chunk: int = 1) -> Iterator[Result]:
    """Results in the order of the items, each as soon as it and those before it are there.

    Args:
        work: a function of a module, so that processes can be given it.
        items: what it is called with; the first value of a tuple names it.
        name: of the work, for the bar or the lines.
        chunk: items handed over at a time; more where an item takes milliseconds.

    Raises:
        UserError: a process died: no memory, or a crash.
    """
    if not items:
        return
    # forked like a loader's workers: what the parent has imported need not be imported again
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(usable_cores(), context, initializer=_start_worker, initargs=(os.getpid(),))
    done = 0
    try:
        # the first call forks all processes: before the bar's thread runs
        results = pool.map(work, items, chunksize=chunk)
        for result in with_progress(results, len(items), name):
            done += 1
            yield result
    except BrokenProcessPool:
        item = items[done]
        where = f"at {item[0] if isinstance(item, tuple) else item} or soon after it"
        raise UserError(f"{name}: a process died, out of memory or by a crash, {where}; what is done is kept") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(parent: int) -> None:
    """Leave signals to the parent, and end with it however it ends."""
    ignore_stops()
    end_with(parent)
