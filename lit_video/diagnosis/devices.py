"""GPUs, processor cores and memory that a run may use."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from lit_video.diagnosis.finding import Finding
from lit_video.diagnosis.probe import probe
from lit_video.utils.processes import usable_cores

CGROUP = Path("/sys/fs/cgroup")


def check_gpus() -> Iterator[Finding]:
    """Every GPU that PyTorch finds, with a tiny product of matrices on it."""
    try:
        found = probe("probe_devices")
    except RuntimeError as error:
        yield Finding("problem", "torch", str(error), "install PyTorch again, for this machine")
        return
    built = f"CUDA {found['cuda']}" if found["cuda"] else f"ROCm {found['hip']}" if found["hip"] else "CPU only"
    for i, gpu in enumerate(found["gpus"]):
        if gpu["error"]:
            advice = "another process may hold it or its memory, or the driver is too old: nvidia-smi"
            yield Finding("problem", f"gpu {i}", f"{gpu['name']}: {gpu['error']}", advice)
        else:
            free = f"{gpu['free']:.1f} of {gpu['total']:.1f} GB free"
            yield Finding("ok", f"gpu {i}", f"{gpu['name']}, {free}, multiplies; PyTorch {found['torch']}, {built}")
    if not found["gpus"]:
        yield _no_gpu(built)


def _no_gpu(built: str) -> Finding:
    if shutil.which("nvidia-smi") is None:
        return Finding("ok", "gpu", f"none; runs train on the CPU (PyTorch: {built})")
    if built == "CPU only":
        advice = "install PyTorch's build for CUDA, see its page on installation"
        return Finding("problem", "gpu", "the machine has an NVIDIA driver, PyTorch is built for the CPU only", advice)
    advice = "ask for a GPU (Slurm: --gpus 1), look at CUDA_VISIBLE_DEVICES, and at nvidia-smi for the driver's version"
    return Finding("warning", "gpu", f"the machine has an NVIDIA driver, PyTorch ({built}) finds no GPU", advice)


def check_processor() -> Iterator[Finding]:
    """Cores and memory that this process may use, which in a job or container are fewer than the machine's."""
    cores, machine = allowed_cores(), os.cpu_count() or 1
    text = f"{cores:g} core{'' if cores == 1 else 's'} for this process"
    if cores < machine:
        advice = (
            f"as many workers as cores: --data.num_workers {max(int(cores), 1)}; ask the job for more if it needs more"
        )
        yield Finding("warning", "cores", f"{text}, of {machine} of the machine", advice)
    else:
        yield Finding("ok", "cores", text)
    memory = allowed_memory() / 2**30
    if memory < 4:
        advice = "fewer --data.num_workers, smaller --data.batch_size, or more memory for the job (Slurm: --mem)"
        yield Finding("warning", "memory", f"{memory:.1f} GB for this process", advice)
    else:
        yield Finding("ok", "memory", f"{memory:.1f} GB for this process")


def allowed_cores() -> float:
    """Cores by affinity and by the share that the control group grants."""
    cores = float(usable_cores())
    for text in _limits("cpu.max"):
        quota, _, period = text.partition(" ")
        if quota != "max":
            cores = min(cores, int(quota) / int(period))
    return cores


def allowed_memory() -> float:
    """Bytes that are free on the machine, and at most what the control group grants."""
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    return min([float(free), *(float(text) for text in _limits("memory.max") if text != "max")])


def _limits(name: str) -> Iterator[str]:
    """Contents of a file of this process's control group (version 2) and of all above it."""
    own = Path("/proc/self/cgroup").read_text(encoding="utf-8").strip().rpartition("::")[2].strip("/")
    group = CGROUP / own
    for folder in (group, *group.parents):
        if folder.is_relative_to(CGROUP) and (folder / name).is_file():
            yield (folder / name).read_text(encoding="utf-8").strip()
