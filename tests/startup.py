"""Plugin of pytest, before all imports: one thread, bytecode that is kept, searches for garbage in tests alone."""

import gc
import os
import sys

import pytest

# for the other workers and the processes that tests start, also in an image that writes no bytecode
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# one core for each of pytest-xdist's workers and the processes that tests start, said before libraries read it at their
# import: threads of BLAS wait for each other, so small products on two cores take five times as long as on one
os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
gc.disable()  # while packages are imported and tests collected, nothing is thrown away


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Leave the million objects of imported packages out of all searches, and search less often than Python does."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)  # searches after every 700 new objects take an eighth of a tiny run
    gc.enable()
