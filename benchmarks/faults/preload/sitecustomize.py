"""Slow disk and jumping clock, loaded by every Python process of a run under faults.

``FAULTS_SLOW``: seconds to write a checkpoint or a result, so that a fault can hit the writing.
``FAULTS_CLOCK``: a file; while it exists, ``time.time`` is off by the number of seconds in it.
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


# Workers do not inherit the limit on the first process's memory: without memory their threads never start, and Python's
# Thread.start waits for them for ever.
_free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
os.register_at_fork(after_in_child=lambda: resource.setrlimit(resource.RLIMIT_DATA, _free))
os.fsync, time.time = _slow_fsync, _shifted_time
