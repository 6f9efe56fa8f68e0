import gc
import multiprocessing

from lit_video.datamodules.timed_loader import TimedLoader
from lit_video.utils.processes import ignore_stops


def test_workers_end_by_themselves_when_the_garbage_collector_finds_their_loader():
    others = multiprocessing.active_children()
    loader = TimedLoader(range(8), num_workers=1, persistent_workers=True, worker_init_fn=lambda number: ignore_stops())
    loader.itself = loader  # as a trainer's and its model's references go round
    assert next(iter(loader)) == 0
    (worker,) = set(multiprocessing.active_children()) - set(others)
    del loader
    gc.collect()
    assert worker.exitcode == 0
