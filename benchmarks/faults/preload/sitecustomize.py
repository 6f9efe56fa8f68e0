"""Loaded by every Python process of a run under faults: a slow disk and a clock that jumps.

``FAULTS_SLOW``: seconds that the disk takes for a checkpoint or a result, so that a fault can hit the writing.
``FAULTS_CLOCK``: a file; while it is there, ``time.time`` is off by the seconds that it holds.
"""

import os
import resource
import time
from pathlib import Path

_fsync, _time = os.fsync, time.time


def _slow_fsync(descriptor: int) -> None:
    path = os.readlink(f"/proc/self/fd/{descriptor}")
    if path.endswith(".last.ckpt.part") or (path.endswith(".run.json.part") and b'"result"' in Path(path).read_bytes()):
        time.sleep(float(os.environ.get("FAULTS_SLOW") or 0))
    _fsync(descriptor)


def _shifted_time() -> float:
    try:
        with open(os.environ.get("FAULTS_CLOCK", "")) as file:
            return _time() + float(file.read())
    except OSError:
        return _time()


# a limit on the first process's memory is not for its workers: without memory their threads never start, and Python's
# Thread.start waits for them for ever
_free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
os.register_at_fork(after_in_child=lambda: resource.setrlimit(resource.RLIMIT_DATA, _free))
os.fsync, time.time = _slow_fsync, _shifted_time
