import os
import time

from lit_video.utils.parallel import in_parallel


def worker(item):
    time.sleep(0.05)
    return os.getpid()


def test_there_are_no_more_processes_than_cores_for_this_one(monkeypatch):
    """A job or a container may have two cores of a machine of a hundred."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert len({*in_parallel(worker, range(6), "work")}) == 1
