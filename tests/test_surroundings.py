"""Test that a program that imports the package keeps its environment, handlers, filters, backend and children."""

import ast
import atexit
import gc
import logging
import multiprocessing
import os
import pkgutil
import random
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import lit_video

FILES = sorted(Path(lit_video.__file__).parent.rglob("*.py"))
BY_LOADERS = {"random numbers", "start method"}  # PyTorch's DataLoader changes them


def surroundings():
    """Return all process-wide state that a library must not change, by name."""
    import av.logging
    import matplotlib
    import numpy as np
    import torch

    loggers = [logging.root, *(each for each in logging.root.manager.loggerDict.values() if hasattr(each, "level"))]
    states = {
        each.name: (each.level, each.handlers[:], each.filters[:], each.propagate, each.disabled) for each in loggers
    }
    switches = (torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_float32_matmul_precision())
    backends = (torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark, torch.backends.mkldnn.enabled)
    return {
        "environment": dict(os.environ),
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "warning filters": warnings.filters[:],
        "loggers": {name: state for name, state in states.items() if state != (0, [], [], True, False)},
        "errors of logging": logging.raiseExceptions,
        "log level of PyAV": av.logging.get_level(),
        "matplotlib": dict(dict.items(matplotlib.rcParams)),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "sharing": torch.multiprocessing.get_sharing_strategy(),
        "threads": ([each.name for each in threading.enumerate()], torch.get_num_threads()),
        "functions at exit": atexit._ncallbacks(),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, sys.getrecursionlimit(), gc.isenabled()),
        "paths": (sys.path[:], sys.meta_path[:], os.getcwd()),
        "random numbers": (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()),
        "numbers": (
            np.geterr(),
            np.get_printoptions(),
            *switches,
            *backends,
            torch.are_deterministic_algorithms_enabled(),
        ),
        "trusted classes": torch.serialization.get_safe_globals(),
    }


def changed(before):
    after = surroundings()
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def import_others():
    """Import the libraries that modules of the package import, which have effects of their own."""
    statements = [node for path in FILES for node in ast.parse(path.read_text()).body]
    names = {alias.name for node in statements if isinstance(node, ast.Import) for alias in node.names}
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("lit_video"):
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    for name in sorted(names):
        with suppress(ImportError):  # an optional library, or no module but a class
            import_module(name)


def import_and_call(checkpoint, folder):
    """Print what imports of all modules change, and what calls change."""
    import_others()
    before = surroundings()
    names = [module.name for module in pkgutil.walk_packages(lit_video.__path__, "lit_video.")]
    for name in names:
        import_module(name)
    print("imports:", changed(before))
    before = surroundings()
    videos = sorted(folder.glob("*/test/*/*.mp4"))
    assert lit_video.predict(checkpoint, videos, evaluation=lit_video.Evaluation(workers=0)).paths
    assert lit_video.attention_maps(checkpoint, videos[0]).picture()
    print("calls:", {name: each for name, each in changed(before).items() if name not in BY_LOADERS})
    print(len(names), "modules")


@pytest.mark.slow
def test_imports_and_calls_change_nothing(checkpoint, root):
    code = "from tests.test_surroundings import *; import_and_call(Path(sys.argv[1]), Path(sys.argv[2]))"
    done = subprocess.run([sys.executable, "-c", code, checkpoint, root], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *lines, modules = done.stdout.splitlines()
    assert lines == ["imports: {}", "calls: {}"] and int(modules.split()[0]) == len(FILES) - 1


PROGRAM = """
import atexit, multiprocessing, sys, time
from pathlib import Path

def save(ending, file):
    ending.wait()
    Path(file).write_text("saved")

ending = multiprocessing.get_context("fork").Event()
atexit.register(ending.set)  # called after all functions that lit_video registers
import torch.utils.data
from lit_video.datamodules import VideoFolder
from lit_video.utils.processes import ignore_stops
from lit_video.video.loading import TimedLoader

class Busy(torch.utils.data.Dataset):
    def __getitem__(self, i):
        ignore_stops()
        time.sleep(600 * i)
        return torch.utils.data.get_worker_info().id

torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL = 0.1  # for which PyTorch waits for each worker
child = multiprocessing.get_context("fork").Process(target=save, args=(ending, sys.argv[1]))
child.start()
loader = TimedLoader(Busy(), sampler=[0, 1, 1], num_workers=2, persistent_workers=True)
batches = iter(loader)
next(batches)
print(*(worker.pid for worker in loader._iterator._workers))
"""


@pytest.mark.slow
def test_the_end_of_a_program_ends_the_loaders_workers_and_no_other_child(tmp_path):
    """Workers ignore SIGTERM, by which multiprocessing ends them, so it would wait for a busy one."""
    command = [sys.executable, "-c", PROGRAM, tmp_path / "file"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "file").read_text() == "saved"
    assert not [pid for pid in done.stdout.split() if Path("/proc", pid).exists()]
