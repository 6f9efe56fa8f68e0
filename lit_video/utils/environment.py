"""The code, the device and the versions that a result was made with."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from lit_video.errors import OptionError
from lit_video.utils.yaml_files import PACKS


def commit() -> str:
    """Return the commit of the code, ``+changes`` if files differ; ``$LIT_VIDEO_COMMIT`` or ``unknown`` without git.

    Packed runs are results and no code: a run that was packed does not change the commit of the next one.
    """
    git = ["git", "-C", str(Path(__file__).parent)]
    describe = [*git, "describe", "--always", "--exclude=*", "--abbrev=12"]  # a commit, not a tag
    compare = [*git, "diff", "--quiet", "HEAD", "--", ":/", f":(top,exclude){PACKS}"]
    try:
        name = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
        differs = subprocess.run(compare, capture_output=True, check=False).returncode != 0
        return f"{name}+changes" if differs else name
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("LIT_VIDEO_COMMIT", "unknown")


def choose_device(name: str | None) -> torch.device:
    """Return the named device, else the best available one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise OptionError("device cuda", "PyTorch finds no GPU here; leave the flag out")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def device_name(device: torch.device | str) -> str:
    """Return the name of a GPU, or of the processor with its threads and the instructions that PyTorch uses there."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:  # Linux
        for line in lines:
            if line.startswith("model name"):
                name = line.partition(": ")[2].strip()
                return f"{name}, {torch.get_num_threads()} threads, {torch.backends.cpu.get_cpu_capability()}"
    return platform.processor()


def seconds(action: Callable[[], object], device: torch.device, clock: Callable[[], float] | None = None) -> float:
    """Measure the seconds of one call, including the device's work."""
    clock = clock or time.perf_counter
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = clock()
    action()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return clock() - start


def versions(*others: str) -> dict[str, str]:
    """Return the versions of the packages that a result depends on, and of ``others``, if installed."""
    by_name = {
        "python": platform.python_version(),
        "lit_video": sys.modules["lit_video"].__version__,  # installed or not
    }
    for name in ("torch", "torchvision", "lightning", "timm", "av", "pytorchvideo", *others):
        with suppress(PackageNotFoundError):
            by_name[name] = version(name)
    return by_name
