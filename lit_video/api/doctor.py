"""Checks of this machine: what works, what does not, and what to do."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import requires, version
from pathlib import Path

from lit_video.api.arguments import File
from lit_video.utils.files import data_folder, user_path, write_bytes
from lit_video.utils.text import Part, Shown, first_line


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    name: str
    text: str  # result in words; of a failed check, the reason
    advice: str = ""  # help with a problem; empty if it works

    def __str__(self) -> str:
        if self.advice:
            return f"problem  {self.name:<12} {self.text}\n{'':<21} -> {self.advice}"
        return f"ok       {self.name:<12} {self.text}"


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """Results of all checks of this machine."""

    findings: list[Finding]

    @property
    def problems(self) -> list[Finding]:
        """Findings with advice."""
        return [finding for finding in self.findings if finding.advice]

    def parts(self) -> Sequence[Part]:
        """Return the findings, and the number of problems."""
        return ["\n".join([*map(str, self.findings), f"problems: {len(self.problems)}"])]


def doctor(runs: File = "runs") -> Diagnosis:
    """Find out what works on this machine, what does not, and what to do.

    Args:
        runs: folder of the runs.
    """
    folder = user_path(runs)

    # name: a function that returns what works or raises an error, and advice for the error
    checks: dict[str, tuple[Callable[[], str], str]] = {
        "libraries": (libraries, "in the folder of lit_video's code: pip install -e . -c constraints.txt"),
        "gpu": (gpus, "another process may hold it, or the driver is too old: nvidia-smi"),
        "runs": (lambda: space(folder, 2), "give another --runs: ViT-B keeps 2 GB per row and seed"),
        "data": (lambda: space(data_folder(), 0.25), "set LIT_VIDEO_DATA to another folder"),
        "/dev/shm": (lambda: space(Path("/dev/shm"), 0.25), "take fewer --data.num_workers (docker: --shm-size)"),
        "locks": (
            lambda: locks(nearest_folder(folder)),
            "give --runs on a file system with locks (mount NFS with them)",
        ),
    }

    findings = []
    for name, (check, advice) in checks.items():
        try:
            finding = Finding(name, check())
        except Exception as error:
            finding = Finding(name, first_line(error), advice)
        findings.append(finding)
    return Diagnosis(findings)


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
    if not os.access(nearest_folder(path), os.W_OK):
        raise PermissionError(f"{path} cannot be written")
    free = shutil.disk_usage(nearest_folder(path)).free / 2**30
    if free < low:
        raise OSError(f"{path}: {free:.2f} GB free, too few")
    return f"{path}: {free:.2f} GB free"


def nearest_folder(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    path = path.expanduser().absolute()
    return next(filter(Path.is_dir, (path, *path.parents)))


def locks(folder: Path) -> str:
    """Try to lock, sync and rename files in a folder."""
    from filelock import FileLock

    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as inside, FileLock(Path(inside) / "lock"):
        write_bytes(Path(inside) / "file", b"new")
    return f"and renames work in {folder}"
