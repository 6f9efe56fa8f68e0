"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Literal, NamedTuple

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder, write_bytes
from lit_video.utils.wandb_login import server, why_offline

OWN_PROCESS = 90.0  # seconds of a check that imports PyTorch: from a cold network disk that takes a minute
GB = 2**30


class Finding(NamedTuple):
    """A line of the report: ``problem`` keeps runs from working, ``warning`` may; ``advice`` says what to do."""

    level: Literal["ok", "warning", "problem"]
    name: str
    text: str
    advice: str = ""


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
    yield from check_software()
    yield in_own_process("gpu", "check_gpus", "another process may hold it, or the driver is too old: nvidia-smi")
    yield in_own_process("pyav", "check_decoding", "pip install --force-reinstall av; its wheel includes FFmpeg")
    offline = "disabled, nothing is recorded" if os.environ.get("WANDB_MODE") == "disabled" else why_offline()
    yield Finding("ok", "wandb", f"offline: {offline}" if offline else f"online: a key is set, {server()} answers")
    yield from check_slurm()
    yield check_folder("runs", runs, 20, "give another --runs: ViT-B keeps 2 GB of checkpoints per row and seed")
    yield check_folder("data", data_folder(), 0.25, "set LIT_VIDEO_DATA to another folder")
    yield check_folder("/dev/shm", Path("/dev/shm"), 1, "take fewer --data.num_workers (docker: --shm-size)")
    yield check_locks(runs)


def check_software() -> Iterator[Finding]:
    """Compare the libraries that are installed with those that the package needs."""
    yield Finding("ok", "python", f"{sys.version.split()[0]}, {sys.executable}")
    installed = {found.name.lower().replace("_", "-"): found for found in distributions()}
    own, shown = installed.get("lit-video"), []
    for need in own.requires or () if own else ():
        name, _, least = re.sub(r"\[.*\]| ", "", need).partition(">=")  # pyproject.toml has no other bound
        library = installed.get(name.lower().replace("_", "-"))
        found = library.version if library else ""
        if ";" not in need:  # else a library of an extra
            shown.append(f"{name} {found}")
            if _numbers(found) < _numbers(least):
                yield Finding("problem", name, f"{found or 'not'} installed, needed >={least}", f"pip install '{need}'")
    yield Finding("ok", "libraries", ", ".join(shown))


def _numbers(version: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", version)]


def in_own_process(name: str, check: str, advice: str) -> Finding:
    """Run a function of this file that could crash or hang in a process of its own; it returns what works."""
    code = f"from lit_video.commands import doctor; print(doctor.{check}())"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=OWN_PROCESS)
    except subprocess.TimeoutExpired:
        return Finding("problem", name, f"no answer within {OWN_PROCESS:g} s", advice)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode} and no message"]
        return Finding("problem", name, lines[-1][:200], advice)
    return Finding("ok", name, done.stdout.strip().splitlines()[-1])


def check_gpus() -> str:
    """Multiply two matrices on every GPU that PyTorch finds.

    Raises:
        RuntimeError: a GPU does not work, or PyTorch does not find the one that has a driver.
    """
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    for i, name in enumerate(names):
        ones = torch.ones(64, 64, device=f"cuda:{i}")
        if (ones @ ones).sum().item() != 64**3:
            raise RuntimeError(f"{name} multiplies wrongly")
    if not names and shutil.which("nvidia-smi"):
        raise RuntimeError("the machine has an NVIDIA driver, this PyTorch finds no GPU")
    return f"{', '.join(names)}: multiply" if names else "none; runs train on the CPU"


def check_decoding() -> str:
    """Decode a clip of four black and four white frames.

    Raises:
        RuntimeError: the pixels are others than were written.
    """
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


def check_slurm() -> Iterator[Finding]:
    """Ask Slurm's controller, and look for variables that Lightning would take for a job's."""
    if not shutil.which("sbatch"):
        yield Finding("ok", "slurm", "not on this machine")
    else:
        try:
            done = subprocess.run(["sinfo", "-h", "-o", "%D %t"], capture_output=True, text=True, timeout=5, check=True)
            yield Finding("ok", "slurm", f"nodes: {' '.join(done.stdout.split())}")
        except (OSError, subprocess.SubprocessError) as error:
            advice = "is slurmctld up? ask the cluster's admins; without it use --launcher local"
            yield Finding("warning", "slurm", str(error), advice)
    job, tasks = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_NTASKS", "1")
    if job and tasks != "1" and not {"SLURM_STEP_ID", "SLURM_PROCID"} <= os.environ.keys():
        advice = "start runs with srun, or unset SLURM_NTASKS: Lightning would wait for the other tasks"
        yield Finding("warning", "slurm job", f"in job {job} of {tasks} tasks, and not under srun", advice)


def check_folder(name: str, path: Path, low: float, advice: str) -> Finding:
    """Check that a folder, or the nearest above it, can be written, and has space for as many gigabytes."""
    if not os.access(existing(path), os.W_OK):
        return Finding("problem", name, f"{path} cannot be written", advice)
    space = shutil.disk_usage(existing(path)).free / GB
    few = space < low
    return Finding("warning" if few else "ok", name, f"{path}: {space:.2f} GB free", f"free some, or {advice}" * few)


def existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def check_locks(runs: Path) -> Finding:
    """Check that a lock in the folder of the runs keeps others out, and that files can be synced and renamed."""
    from filelock import FileLock, Timeout

    folder, advice = existing(runs), "give a --runs on a file system with locks and renames (mount NFS with them)"
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as inside:
            write_bytes(Path(inside) / "file", b"new")
            with FileLock(Path(inside) / "lock", timeout=0), FileLock(Path(inside) / "lock", timeout=0):
                return Finding("problem", "locks", f"in {folder} a lock does not keep others out", advice)
    except (OSError, RuntimeError) as error:
        # newer versions see a second lock of the same process
        if isinstance(error, Timeout) or type(error) is RuntimeError:
            return Finding("ok", "locks", f"and renames work in {folder}")
        return Finding("problem", "locks", f"or renames fail in {folder} ({error})", advice)
