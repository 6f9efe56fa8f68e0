"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distributions, requires
from itertools import chain
from pathlib import Path
from typing import Literal

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder, write_bytes
from lit_video.utils.wandb_login import server, why_offline

OWN_PROCESS = 90.0  # seconds of a check that imports PyTorch: from a cold network disk that takes a minute
SHOWN = ("torch", "lightning", "torchvision", "av", "timm", "pytorchvideo", "wandb")
SLURM = ("sinfo", "sbatch", "srun", "scontrol")
GB = 2**30
REINSTALL = "pip install --force-reinstall av; its wheel includes FFmpeg"

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """A line of the report: ``problem`` keeps runs from working, ``warning`` may; ``advice`` says what to do."""

    level: Level
    name: str
    text: str
    advice: str = ""


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def run(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    levels = []
    for each in findings(arguments.runs):
        levels.append(each.level)
        advice = f"\n{'':<21} -> {each.advice}" if each.advice else ""
        print(f"{each.level:<8} {each.name:<12} {each.text}{advice}", flush=True)
    print(f"problems: {levels.count('problem')}, warnings: {levels.count('warning')}")
    return int("problem" in levels)


def findings(runs: Path) -> Iterator[Finding]:
    """Findings of all checks, in the order of the report."""
    keeps = "give another --runs: ViT-B keeps 2 GB of checkpoints per row and seed"
    return chain(
        check_software(),
        in_own_process("gpu", "check_gpus", "install PyTorch again, for this machine"),
        in_own_process("pyav", "check_decoding", REINSTALL),
        [check_wandb()],
        check_slurm(),
        [check_folder("runs", runs, 20, 1, keeps)],
        [check_folder("data", data_folder(), 0.25, 0.25, "set LIT_VIDEO_DATA to another folder")],
        [check_folder("/dev/shm", Path("/dev/shm"), 1, 0, "take fewer --data.num_workers (docker: --shm-size)")],
        [check_locks(runs)],
    )


def in_own_process(name: str, check: str, advice: str) -> Iterator[Finding]:
    """Findings of a function of this file that could crash or hang, from a process of its own."""
    code = f"import json; from lit_video.commands import doctor as d; print(json.dumps([vars(f) for f in d.{check}()]))"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=OWN_PROCESS)
    except subprocess.TimeoutExpired:
        yield Finding("problem", name, f"no answer within {OWN_PROCESS:g} s", advice)
        return
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode} and no message"]
        yield Finding("problem", name, lines[-1][:200], advice)
    else:
        yield from (Finding(**each) for each in json.loads(done.stdout.splitlines()[-1]))


def check_software() -> Iterator[Finding]:
    """Python, and the libraries that the package needs."""
    yield Finding("ok", "python", f"{sys.version.split()[0]}, {sys.executable}")
    shown = {name: installed(name) for name in SHOWN}
    yield Finding("ok", "libraries", ", ".join(f"{name} {number}" for name, number in shown.items() if number))
    for line in requires("lit_video") or () if installed("lit_video") else ():
        name, _, least = line.replace(" ", "").partition(">=")  # pyproject.toml has no other bound
        number = installed(name.partition("[")[0])
        if ";" not in line and (number is None or _numbers(number) < _numbers(least)):  # with ";" it is an extra's
            text = f"{number}, needed >={least}" if number else "not installed"
            yield Finding("problem", name, text, f"pip install '{line}'")


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", version)]


def installed(name: str) -> str | None:
    """Version of a library; ``None`` if it is not installed."""
    return next((found.version for found in distributions(name=name)), None)


def check_gpus() -> Iterator[Finding]:
    """Every GPU that PyTorch finds multiplies two matrices."""
    import torch

    for i in range(torch.cuda.device_count()):
        name = torch.cuda.get_device_name(i)
        try:
            ones = torch.ones(64, 64, device=f"cuda:{i}")
            if (ones @ ones).sum().item() != 64**3:
                raise RuntimeError("a product of matrices is wrong")
            yield Finding("ok", f"gpu {i}", f"{name} multiplies")
        except RuntimeError as error:
            advice = "another process may hold it or its memory, or the driver is too old: nvidia-smi"
            yield Finding("problem", f"gpu {i}", f"{name}: {str(error).splitlines()[0][:150]}", advice)
    if torch.cuda.device_count():
        return
    if not shutil.which("nvidia-smi"):
        yield Finding("ok", "gpu", "none; runs train on the CPU")
    elif torch.version.cuda or torch.version.hip:
        advice = "ask for one (Slurm: --gpus 1), look at CUDA_VISIBLE_DEVICES"
        yield Finding("warning", "gpu", "the machine has an NVIDIA driver, PyTorch finds no GPU", advice)
    else:
        yield Finding("problem", "gpu", "PyTorch is built for the CPU only", "install its build for CUDA")


def check_decoding() -> Iterator[Finding]:
    """PyAV decodes a clip of four black and four white frames."""
    import numpy as np

    from lit_video.datamodules.drawing import encode
    from lit_video.video.decoding import decode

    frames = np.zeros((8, 32, 32, 3), np.uint8)
    frames[4:] = 255
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        encode(clip, frames, 8)
        black, white = decode(clip, [1, 6]).mean((1, 2, 3))
    if black < 10 and white > 245:
        yield Finding("ok", "pyav", "decodes a clip")
    else:
        yield Finding("problem", "pyav", "decodes other pixels than were written", REINSTALL)


def check_wandb() -> Finding:
    """Whether runs are recorded at the W&B server, as a run asks before it starts."""
    if os.environ.get("WANDB_MODE") == "disabled":
        return Finding("warning", "wandb", "WANDB_MODE=disabled: nothing is recorded", "unset it to record runs")
    if reason := why_offline():
        level: Level = "warning" if "reached" in reason else "ok"
        return Finding(level, "wandb", f"offline: {reason}", "wandb sync uploads what runs record in their folders")
    return Finding("ok", "wandb", f"online: a key is set, {server()} answers")


def check_slurm() -> Iterator[Finding]:
    """Slurm's commands, its controller's answer, and variables that Lightning would take for a job's."""
    missing = [name for name in SLURM if not shutil.which(name)]
    if len(missing) == len(SLURM):
        yield Finding("ok", "slurm", "not on this machine")
    elif missing:
        yield Finding("warning", "slurm", f"no {', '.join(missing)} in PATH", "load the cluster's module for Slurm")
    else:
        yield _controller()
    job, tasks = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_NTASKS", "1")
    if job and tasks != "1" and not {"SLURM_STEP_ID", "SLURM_PROCID"} <= os.environ.keys():
        advice = "start runs with srun, or unset SLURM_NTASKS: Lightning would wait for the other tasks"
        yield Finding("warning", "slurm job", f"in job {job} of {tasks} tasks, and not under srun", advice)


def _controller() -> Finding:
    advice = "is slurmctld up? ask the cluster's admins; without it use --launcher local"
    try:
        command = ["sinfo", "-h", "-o", "%D %t"]
        nodes = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.splitlines()
        return Finding("ok", "slurm", f"nodes: {', '.join(nodes) or 'none for you'}")
    except subprocess.CalledProcessError as error:
        return Finding("warning", "slurm", " ".join(error.stderr.split())[:150] or "sinfo failed", advice)
    except subprocess.TimeoutExpired:
        return Finding("warning", "slurm", "sinfo gives no answer within 5 s", advice)


def check_folder(name: str, place: Path, low: float, full: float, advice: str) -> Finding:
    """Whether a folder, or the nearest above it that exists, can be written and has space, in gigabytes."""
    space = shutil.disk_usage(existing(place)).free / GB
    if not os.access(existing(place), os.W_OK):
        return Finding("problem", name, f"{place} cannot be written", advice)
    level: Level = "problem" if space < full else "warning" if space < low else "ok"
    return Finding(level, name, f"{place}: {space:.2f} GB free", "" if level == "ok" else f"free some, or {advice}")


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def check_locks(runs: Path) -> Finding:
    """Whether a lock in the folder of the runs keeps others out, and whether files can be synced and renamed."""
    from filelock import FileLock, Timeout

    folder, advice = existing(runs), "give a --runs on a file system with locks and renames (mount NFS with them)"
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as place:
            write_bytes(Path(place) / "file", b"new")
            with FileLock(Path(place) / "lock", timeout=0), FileLock(Path(place) / "lock", timeout=0):
                return Finding("problem", "locks", f"in {folder} a lock does not keep others out", advice)
    except (OSError, RuntimeError) as error:
        # newer versions see a second lock of the same process
        if isinstance(error, Timeout) or type(error) is RuntimeError:
            return Finding("ok", "locks", f"and renames work in {folder}")
        return Finding("problem", "locks", f"or renames fail in {folder} ({error})", advice)
