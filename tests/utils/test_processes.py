import multiprocessing
import signal
import time

from lit_video.utils.processes import end_workers, ignore_stops


def test_workers_that_ignore_every_stop_end_with_the_interpreter():
    # as a loader's do; multiprocessing's own SIGTERM at the exit would wait for them for ever
    before = signal.getsignal(signal.SIGCHLD)
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    worker = context.Process(target=_ignore_and_wait, args=(ready,), daemon=True)
    worker.start()
    assert ready.wait(60)
    worker.terminate()
    try:
        end_workers()
    finally:
        signal.signal(signal.SIGCHLD, before)
    worker.join()
    assert worker.exitcode == -signal.SIGKILL


def _ignore_and_wait(ready):
    ignore_stops()
    ready.set()
    time.sleep(60)
