"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import os
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import requires, version
from pathlib import Path

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder, write_bytes
from lit_video.utils.wandb_login import first_line, server, why_offline

GB = 2**30


# level (ok, warning, problem: runs do not work), name, text, advice
Finding = tuple[str, str, str, str]


def add(parser: Parser) -> None:
    """Add examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def run(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    levels = []
    for level, name, text, advice in findings(arguments.runs):
        levels.append(level)
        print(f"{level:<8} {name:<12} {text}" + (f"\n{'':<21} -> {advice}" if advice else ""), flush=True)
    print(f"problems: {levels.count('problem')}, warnings: {levels.count('warning')}")
    return int("problem" in levels)


def findings(runs: Path) -> Iterator[Finding]:
    """Yield the findings of all checks."""
    yield "ok", "python", f"{sys.version.split()[0]}, {sys.executable}", ""
    yield tried("problem", "libraries", libraries, "pip install lit_video")
    yield tried("problem", "gpu", gpus, "another process may hold it, or the driver is too old: nvidia-smi")
    yield tried("problem", "pyav", decoding, "pip install --force-reinstall av; its wheel includes FFmpeg")
    offline = "disabled, nothing is recorded" if os.environ.get("WANDB_MODE") == "disabled" else why_offline()
    yield "ok", "wandb", f"offline: {offline}" if offline else f"online: a key is set, {server()} answers", ""
    yield tried("warning", "slurm", slurm, "ask the cluster's admins; without it use --launcher local")
    yield tried("warning", "slurm job", slurm_job, "start runs with srun, or unset SLURM_NTASKS")
    advice = "free some, or give another --runs: ViT-B keeps 2 GB of checkpoints per row and seed"
    yield tried("warning", "runs", lambda: space(runs, 20), advice)
    yield tried("warning", "data", lambda: space(data_folder(), 0.25), "set LIT_VIDEO_DATA to another folder")
    advice = "take fewer --data.num_workers (docker: --shm-size)"
    yield tried("warning", "/dev/shm", lambda: space(Path("/dev/shm"), 1), advice)
    advice = "give a --runs on a file system with locks and renames (mount NFS with them)"
    yield tried("problem", "locks", lambda: locks(existing(runs)), advice)


def tried(level: str, name: str, check: Callable[[], str], advice: str) -> Finding:
    """Run a check, which returns what works or raises what does not."""
    try:
        return "ok", name, check(), ""
    except Exception as error:
        return level, name, first_line(error), advice


def libraries() -> str:
    """Return the versions of the libraries that the package needs."""
    names = [need.partition(">=")[0].partition("[")[0] for need in requires("lit_video") or () if ";" not in need]
    return ", ".join(f"{name} {version(name)}" for name in names)


def gpus() -> str:
    """Multiply two matrices on every GPU that PyTorch finds."""
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    for i, name in enumerate(names):
        ones = torch.ones(64, 64, device=f"cuda:{i}")
        if (ones @ ones).sum().item() != 64**3:
            raise RuntimeError(f"{name} multiplies wrongly")
    if not names and shutil.which("nvidia-smi"):
        raise RuntimeError("the machine has an NVIDIA driver, this PyTorch finds no GPU")
    return f"{', '.join(names)}: multiply" if names else "none; runs train on the CPU"


def decoding() -> str:
    """Decode a clip of four black and four white frames."""
    import numpy as np

    from lit_video.datamodules.drawing import encode
    from lit_video.video.decoding import decode

    frames = np.zeros((8, 32, 32, 3), np.uint8)
    frames[4:] = 255
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        encode(clip, frames, 8)
        black, white = decode(clip, [1, 6]).mean((1, 2, 3))
    if black >= 10 or white <= 245:
        raise RuntimeError("decodes other pixels than were written")
    return "decodes a clip"


def slurm() -> str:
    """Ask Slurm's controller for its nodes."""
    if not shutil.which("sbatch"):
        return "not on this machine"
    done = subprocess.run(["sinfo", "-h", "-o", "%D %t"], capture_output=True, text=True, timeout=5, check=True)
    return f"nodes: {' '.join(done.stdout.split())}"


def slurm_job() -> str:
    """Look for variables that make Lightning wait for other tasks of a job."""
    job, tasks = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_NTASKS", "1")
    if job and tasks != "1" and not {"SLURM_STEP_ID", "SLURM_PROCID"} <= os.environ.keys():
        raise RuntimeError(f"in job {job} of {tasks} tasks, and not under srun: Lightning would wait for the others")
    return f"in job {job}" if job else "not in one"


def space(path: Path, low: float) -> str:
    """Measure the space in a folder, or the nearest above it, in gigabytes; refuse less than ``low``."""
    if not os.access(existing(path), os.W_OK):
        raise PermissionError(f"{path} cannot be written")
    free = shutil.disk_usage(existing(path)).free / GB
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
