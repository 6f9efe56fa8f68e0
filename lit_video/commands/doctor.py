"""The ``doctor`` command: what works on this machine, what does not, and what to do."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from lit_video.commands.arguments import add_shared
from lit_video.commands.parser import Parser
from lit_video.utils.files import data_folder
from lit_video.utils.wandb_login import server, why_offline

SECONDS = 100.0  # for all checks, which run side by side
OWN_PROCESS = 90.0  # of these for a check that imports PyTorch: from a cold network disk that takes a minute
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


Check = Callable[[], Iterable[Finding]]


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("", "--runs DIR")
    add_shared(parser, "--runs")


def run(arguments: Namespace) -> int:
    """Report what works on this machine, what does not, and what to do.

    Exit status 1: there is a problem.
    """
    levels = []
    for each in run_checks(checks(arguments.runs), SECONDS):
        levels.append(each.level)
        advice = f"\n{'':<21} -> {each.advice}" if each.advice else ""
        print(f"{each.level:<8} {each.name:<12} {each.text}{advice}", flush=True)
    problems, warnings = levels.count("problem"), levels.count("warning")
    print(f"{problems} problem{'' if problems == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return int(problems > 0)


def checks(runs: Path) -> Mapping[str, Check]:
    """All checks by name, in the order of the report."""
    folders = {
        "runs": (runs, 20, 1, "give another --runs: ViT-B keeps 2 GB of checkpoints per row and seed"),
        "data": (data_folder(), 0.25, 0.25, "set LIT_VIDEO_DATA to another folder"),
        "TMPDIR": (Path(os.environ.get("TMPDIR", "/tmp")), 1, 0, "set TMPDIR to another folder"),
        "/dev/shm": (Path("/dev/shm"), 1, 0, "take fewer --data.num_workers, which use it (docker: --shm-size)"),
    }
    return {
        "software": check_software,
        "gpu": partial(in_own_process, "gpu", "check_gpus", "install PyTorch again, for this machine"),
        "pyav": partial(in_own_process, "pyav", "check_decoding", REINSTALL),
        "wandb": lambda: [check_wandb()],
        "slurm": check_slurm,
        **{name: partial(check_folder, name, *each) for name, each in folders.items()},
        "locks": partial(check_locks, runs),
    }


def run_checks(every: Mapping[str, Check], seconds: float) -> Iterator[Finding]:
    """Findings of all checks, in order; one that raises, or gives no answer in time, is a finding itself.

    A thread that hangs, as on a dead network disk, is left behind.
    """
    found: dict[str, list[Finding]] = {}

    def work(name: str, check: Check) -> None:
        try:
            found[name] = list(check())
        except Exception as error:  # whatever it is, the other checks go on
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            found[name] = [Finding("warning", name, f"could not be checked ({reason})", "look at it by hand")]

    threads = {each[0]: threading.Thread(target=work, args=each, daemon=True) for each in every.items()}
    for thread in threads.values():
        thread.start()
    end = time.monotonic() + seconds
    for name, thread in threads.items():
        thread.join(max(end - time.monotonic(), 0))
        advice = "something hangs there: a dead network disk, a driver; look at it by hand"
        yield from found.get(name, [Finding("problem", name, f"no answer within {seconds:.0f} s", advice)])


def in_own_process(name: str, check: str, advice: str) -> list[Finding]:
    """Findings of a function of this file that could crash or hang, from a process of its own."""
    code = f"import json; from lit_video.commands import doctor as d; print(json.dumps([vars(f) for f in d.{check}()]))"
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=OWN_PROCESS)
    except subprocess.TimeoutExpired:
        return [Finding("problem", name, f"no answer within {OWN_PROCESS:g} s", advice)]
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode} and no message"]
        return [Finding("problem", name, lines[-1][:200], advice)]
    return [Finding(**each) for each in json.loads(done.stdout.splitlines()[-1])]


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
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def check_gpus() -> Iterator[Finding]:
    """Every GPU that PyTorch finds multiplies two matrices."""
    import torch

    for i in range(torch.cuda.device_count()):
        name = torch.cuda.get_device_name(i)
        try:
            free, total = (n / GB for n in torch.cuda.mem_get_info(i))
            ones = torch.ones(64, 64, device=f"cuda:{i}")
            if (ones @ ones).sum().item() != 64**3:
                raise RuntimeError("a product of matrices is wrong")
            yield Finding("ok", f"gpu {i}", f"{name}, {free:.1f} of {total:.1f} GB free, multiplies")
        except RuntimeError as error:
            advice = "another process may hold it or its memory, or the driver is too old: nvidia-smi"
            yield Finding("problem", f"gpu {i}", f"{name}: {str(error).splitlines()[0][:150]}", advice)
    if not torch.cuda.device_count() and not shutil.which("nvidia-smi"):
        yield Finding("ok", "gpu", "none; runs train on the CPU")
    elif not torch.cuda.device_count():
        built = torch.version.cuda or torch.version.hip
        text = f"the machine has an NVIDIA driver, PyTorch {'finds no GPU' if built else 'is built for the CPU only'}"
        advice = (
            "ask for one (Slurm: --gpus 1), look at CUDA_VISIBLE_DEVICES" if built else "install its build for CUDA"
        )
        yield Finding("warning" if built else "problem", "gpu", text, advice)


def check_decoding() -> Iterator[Finding]:
    """PyAV decodes a clip of four black and four white frames."""
    import av
    import numpy as np

    from lit_video.video.decoding import decode
    from lit_video.video.encoding import h264_stream, video_frame

    frames, base = np.zeros((8, 32, 32, 3), np.uint8), Fraction(1, 8)
    frames[4:] = 255
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "clip.mp4"
        with av.open(str(clip), "w") as container:
            stream = h264_stream(container, frames[0], base, 1 / base)
            for number, frame in enumerate(frames):
                container.mux(stream.encode(video_frame(frame, stream, number, base)))
            container.mux(stream.encode())
        try:
            black, white = decode(clip, [1, 6]).mean((1, 2, 3))
            wrong = "" if black < 10 and white > 245 else "decodes other pixels than were written"
        except Exception as error:
            wrong = (str(error).splitlines() or [type(error).__name__])[0][:200]
        yield Finding("problem", "pyav", wrong, REINSTALL) if wrong else Finding("ok", "pyav", "decodes a clip")


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
        done = subprocess.run(["sinfo", "-h", "-o", "%D %t"], capture_output=True, text=True, timeout=5)
    except subprocess.TimeoutExpired:
        return Finding("warning", "slurm", "sinfo gives no answer within 5 s", advice)
    if done.returncode:
        return Finding("warning", "slurm", f"sinfo: {done.stderr.strip()[:150] or 'failed'}", advice)
    return Finding("ok", "slurm", f"nodes: {', '.join(done.stdout.splitlines()) or 'none for you'}")


def check_folder(name: str, place: Path, low: float, full: float, advice: str) -> Iterator[Finding]:
    """Whether a folder, or the nearest above it that exists, can be written and has space, in gigabytes."""
    space = shutil.disk_usage(existing(place)).free / GB
    if not os.access(existing(place), os.W_OK):
        yield Finding("problem", name, f"{place} cannot be written", advice)
    else:
        level: Level = "problem" if space < full else "warning" if space < low else "ok"
        yield Finding(level, name, f"{place}: {space:.2f} GB free", "" if level == "ok" else f"free some, or {advice}")


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def check_locks(runs: Path) -> Iterator[Finding]:
    """Whether a lock in the folder of the runs keeps others out, and whether files can be synced and renamed."""
    from filelock import FileLock, Timeout

    folder, advice = existing(runs), "give a --runs on a file system with locks and renames (mount NFS with them)"
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as place:
            (part := Path(place) / "part").write_bytes(b"new")
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(Path(place) / "target")
            with FileLock(Path(place) / "lock", timeout=0):
                try:
                    with FileLock(Path(place) / "lock", timeout=0):
                        yield Finding("problem", "locks", f"in {folder} a lock does not keep others out", advice)
                except (Timeout, RuntimeError):  # newer versions see a second lock of the same process
                    yield Finding("ok", "locks", f"and renames work in {folder}")
    except (OSError, NotImplementedError) as error:
        yield Finding("problem", "locks", f"or renames fail in {folder} ({error})", advice)
