"""Processes beside each other: how many, and what is said when one dies."""

import os
import time

import pytest

from lit_video.errors import UserError
from lit_video.utils.parallel import in_parallel


def worker(item):
    time.sleep(0.05)
    return os.getpid()


def test_there_are_no_more_processes_than_cores_for_this_one(monkeypatch):
    """A job or a container may have two cores of a machine of a hundred."""
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert len({*in_parallel(worker, range(6), "work")}) == 1


def crash(item):
    os._exit(1)


def test_a_process_that_dies_is_reported_with_the_name_of_its_item(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    with pytest.raises(UserError, match=r"^work: a process died, .* at a\.mp4 or soon after it; what is done is kept$"):
        list(in_parallel(crash, [("a.mp4", None)], "work"))
