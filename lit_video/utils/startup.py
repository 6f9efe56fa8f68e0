"""Set up the process of a command, which no import does: instructions that oneDNN may use, filters of messages."""

import logging
import os
import warnings
from pathlib import Path

LIMIT = "ONEDNN_MAX_CPU_ISA"


def avoid_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """On a virtual machine with AMX have oneDNN use AVX-512, unless ``ONEDNN_MAX_CPU_ISA`` is set.

    Some of them announce AMX without a layout of its tiles (CPUID leaf 1DH is all zero), and the first product in
    bfloat16, which Muon takes, ends the process with SIGILL (github.com/uxlfoundation/oneDNN, issue 5689). Python
    cannot ask for that leaf. To be deleted with the first PyTorch whose oneDNN looks at it (pull request 5801).
    """
    try:
        with cpuinfo.open(encoding="utf-8") as lines:
            flags = next((line.split() for line in lines if line.startswith("flags")), [])  # processors are alike
    except OSError:  # no Linux
        return
    if "amx_tile" in flags and "hypervisor" in flags:
        os.environ.setdefault(LIMIT, "AVX512_CORE_FP16")  # all that AVX-512 has


def prepare() -> None:
    """Limit oneDNN and filter known noise; called before the packages are imported that this concerns."""
    avoid_amx()
    # Lightning's own use of torch's pytree, fixed by nobody outside Lightning
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).*")
    # progress bars are plain text in notebooks without ipywidgets, which is fine
    warnings.filterwarnings("ignore", message='IProgress not found|install "ipywidgets"')
    # PyTorchVideo's, when it is imported
    warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")
    # a home that cannot be written: matplotlib keeps its font cache in a temporary folder, and says so
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # a full disk makes W&B's own log raise
    logging.raiseExceptions = False
    # W&B's banner; what matters of it we say ourselves
    os.environ.setdefault("WANDB_SILENT", "true")


def filter_lightning() -> None:
    """Drop Lightning's advertisements, device lines and hints; called after its import, which sets levels and filters.

    Its warnings are hints to whoever writes a Trainer, and which of them show depends on the machine. Warnings that a
    user can act on we check ourselves, and say in one line.
    """
    warnings.filterwarnings("ignore", module=r"lightning\b")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # a rank died: without this line all processes are killed silently
    logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script").setLevel(logging.INFO)
