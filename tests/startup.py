"""Plugin of pytest, before all imports: what is compiled is kept, and garbage is searched for in what tests make."""

import gc
import os
import sys

import pytest

# for the other workers and the processes that tests start, also in an image that writes no bytecode
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
gc.disable()  # while packages are imported and tests collected, nothing is thrown away


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop():
    """Leave the million objects of imported packages out of all searches."""
    gc.freeze()
    gc.enable()
