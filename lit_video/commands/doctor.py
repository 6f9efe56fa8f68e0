"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import requires, version
from pathlib import Path

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder, write_bytes
from lit_video.utils.wandb_login import first_line


def add(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def run(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    runs, shared = arguments.runs, Path("/dev/shm")
    # meaning of a failure (problem: runs do not work), a function that says what works or raises, advice
    checks: dict[str, tuple[str, Callable[[], str], str]] = {
        "libraries": ("problem", libraries, "pip install lit_video"),
        "gpu": ("problem", gpus, "another process may hold it, or the driver is too old: nvidia-smi"),
        "slurm": ("warning", slurm, "start runs with srun, or unset SLURM_NTASKS"),
        "runs": ("warning", lambda: space(runs, 20), "give another --runs: ViT-B keeps 2 GB per row and seed"),
        "data": ("warning", lambda: space(data_folder(), 0.25), "set LIT_VIDEO_DATA to another folder"),
        "/dev/shm": ("warning", lambda: space(shared, 1), "take fewer --data.num_workers (docker: --shm-size)"),
        "locks": ("problem", lambda: locks(existing(runs)), "give a --runs that has locks (mount NFS with them)"),
    }
    levels = []
    for name, (level, check, advice) in checks.items():
        try:
            level, text, advice = "ok", check(), ""
        except Exception as error:
            text = first_line(error)
        levels.append(level)
        print(f"{level:<8} {name:<12} {text}" + (f"\n{'':<21} -> {advice}" if advice else ""), flush=True)
    print(f"problems: {levels.count('problem')}, warnings: {levels.count('warning')}")
    return int("problem" in levels)


def libraries() -> str:
    """Return the versions of Python and of the libraries that the package needs."""
    names = [need.partition(">=")[0].partition("[")[0] for need in requires("lit_video") or () if ";" not in need]
    python = f"Python {sys.version.split()[0]} in {sys.executable}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in names)])


def gpus() -> str:
    """Multiply two matrices on every GPU that PyTorch finds."""
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    for i in range(len(names)):
        ones = torch.ones(64, 64, device=f"cuda:{i}")
        torch.testing.assert_close((ones @ ones).cpu(), torch.full((64, 64), 64.0))
    if not names and shutil.which("nvidia-smi"):
        raise RuntimeError("the machine has an NVIDIA driver, this PyTorch finds no GPU")
    return f"{', '.join(names)}: multiply" if names else "none; runs train on the CPU"


def slurm() -> str:
    """Refuse a job in which Lightning would wait for other tasks."""
    job, tasks = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_NTASKS", "1")
    if job and tasks != "1" and not {"SLURM_STEP_ID", "SLURM_PROCID"} <= os.environ.keys():
        raise RuntimeError(f"in job {job} of {tasks} tasks, and not under srun: Lightning would wait for the others")
    return f"in job {job}" if job else "not in a job"


def space(path: Path, low: float) -> str:
    """Measure the space in a folder, or the nearest above it, in gigabytes; refuse less than ``low``."""
    if not os.access(existing(path), os.W_OK):
        raise PermissionError(f"{path} cannot be written")
    free = shutil.disk_usage(existing(path)).free / 2**30
    if free < low:
        raise OSError(f"{path}: {free:.2f} GB free, too few")
    return f"{path}: {free:.2f} GB free"


def existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def locks(folder: Path) -> str:
    """Lock, sync and rename files in a folder."""
    from filelock import FileLock, Timeout

    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as inside:
        write_bytes(Path(inside) / "file", b"new")
        first, second = (FileLock(Path(inside) / "lock", timeout=0, is_singleton=False) for _ in range(2))
        with first, suppress(Timeout, RuntimeError), second:  # newer versions see a second lock of the same process
            raise OSError(f"in {folder} a lock does not keep others out")
    return f"and renames work in {folder}"
