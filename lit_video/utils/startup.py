"""Set up the process of a command, never during an import: limit oneDNN's instructions, filter messages."""

import logging
import os
import sys
import warnings
from pathlib import Path

from lit_video.errors import UserError

LIMIT = "ONEDNN_MAX_CPU_ISA"


def avoid_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Limit oneDNN to AVX-512 on virtual machines with AMX, unless ``ONEDNN_MAX_CPU_ISA`` is set.

    Some of these machines announce AMX without a tile layout (CPUID leaf 1DH is all zero). The first bfloat16 product
    (``trainer.precision: bf16-mixed``) then ends the process with SIGILL (github.com/uxlfoundation/oneDNN, issue 5689).
    Python cannot read the leaf.
    Delete this function when PyTorch's oneDNN checks the leaf (pull request 5801).
    """
    try:
        with cpuinfo.open(encoding="utf-8") as lines:
            flags = next((line.split() for line in lines if line.startswith("flags")), [])  # equal for all processors
    except OSError:  # no Linux
        return
    if "amx_tile" in flags and "hypervisor" in flags:
        os.environ.setdefault(LIMIT, "AVX512_CORE_FP16")  # includes all AVX-512 instructions


def refuse_no_folder() -> None:
    """Refuse to run in a working directory that was deleted: relative paths mean nothing there."""
    try:
        os.getcwd()
    except OSError as error:
        raise UserError(
            f"the working directory cannot be read ({error.strerror}); cd to a folder that exists"
        ) from None


def set_up_process() -> None:
    """Limit oneDNN and filter known noise; call this before importing the packages concerned."""
    avoid_amx()
    if any(option.startswith("error") for option in sys.warnoptions):  # PYTHONWARNINGS=error: libraries warn
        warnings.simplefilter("default")
        os.environ.pop("PYTHONWARNINGS", None)  # also for processes that are started

    # a warning about Lightning's own use of torch's pytree
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).*")
    # progress bars are plain text in notebooks without ipywidgets, which is fine
    warnings.filterwarnings("ignore", message='IProgress not found|install "ipywidgets"')
    # importing PyTorchVideo raises this warning
    warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")
    # matplotlib reports a temporary font cache if the home folder is read-only
    logging.getLogger("matplotlib").setLevel(logging.ERROR)

    # a full disk makes W&B's own log raise
    logging.raiseExceptions = False
    # W&B's banner; our own lines have the essentials
    os.environ.setdefault("WANDB_SILENT", "true")


def filter_lightning() -> None:
    """Drop Lightning's advertisements, device lines and hints, after its import has set levels and filters."""
    warnings.filterwarnings("ignore", module=r"lightning\b")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # keep the message that a rank died, before all processes are killed
    logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script").setLevel(logging.INFO)
