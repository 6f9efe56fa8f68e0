"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import os
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from importlib.metadata import requires, version
from pathlib import Path

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder, write_bytes
from lit_video.utils.text import first_line


def doctor_arguments(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def doctor(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    runs = arguments.runs
    # name: a function that returns what works or raises an error, and advice for the error
    checks: dict[str, tuple[Callable[[], str], str]] = {
        "libraries": (libraries, "in the folder of lit_video's code: pip install -e . -c constraints.txt"),
        "gpu": (gpus, "another process may hold it, or the driver is too old: nvidia-smi"),
        "runs": (lambda: space(runs, 2), "give another --runs: ViT-B keeps 2 GB per row and seed"),
        "data": (lambda: space(data_folder(), 0.25), "set LIT_VIDEO_DATA to another folder"),
        "/dev/shm": (lambda: space(Path("/dev/shm"), 0.25), "take fewer --data.num_workers (docker: --shm-size)"),
        "locks": (lambda: locks(existing(runs)), "give --runs on a file system with locks (mount NFS with them)"),
    }
    problems = 0
    for name, (check, advice) in checks.items():
        try:
            print(f"ok       {name:<12} {check()}", flush=True)
        except Exception as error:
            problems += 1
            print(f"problem  {name:<12} {first_line(error)}\n{'':<21} -> {advice}", flush=True)
    print(f"problems: {problems}")
    return int(problems > 0)


def libraries() -> str:
    """Return the versions of Python and of the libraries that the package needs."""
    names = [re.split(r">=|\[", need)[0] for need in requires("lit_video") or () if ";" not in need]
    python = f"Python {sys.version.split()[0]} in {sys.executable}"
    return ", ".join([python, *map("{} {}".format, names, map(version, names))])


def gpus() -> str:
    """Multiply two matrices on every GPU that PyTorch finds."""
    import torch

    names = []
    for i in range(torch.cuda.device_count()):
        names.append(torch.cuda.get_device_name(i))
        ones = torch.ones(64, 64, device=f"cuda:{i}")
        torch.testing.assert_close((ones @ ones).cpu(), torch.full((64, 64), 64.0))
    if not names and shutil.which("nvidia-smi"):
        raise RuntimeError("the machine has an NVIDIA driver, but this PyTorch finds no GPU")
    return f"{', '.join(names)}: multiply" if names else "none; runs train on the CPU"


def space(path: Path, low: float) -> str:
    """Measure the free gigabytes in a folder, or in the nearest existing one above it; refuse less than ``low``."""
    if not os.access(existing(path), os.W_OK):
        raise PermissionError(f"{path} cannot be written")
    free = shutil.disk_usage(existing(path)).free / 2**30
    if free < low:
        raise OSError(f"{path}: {free:.2f} GB free, too few")
    return f"{path}: {free:.2f} GB free"


def existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(filter(Path.is_dir, (path, *path.parents)))


def locks(folder: Path) -> str:
    """Try to lock, sync and rename files in a folder."""
    from filelock import FileLock

    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as inside, FileLock(Path(inside) / "lock"):
        write_bytes(Path(inside) / "file", b"new")
    return f"and renames work in {folder}"
