"""Filters for messages of other packages that do not help our users; each with its reason. Imports no torch."""

import logging
import os
import warnings


def quiet() -> None:
    """Filter known noise, in this process; called before the packages that make it are imported."""
    # Lightning's own use of torch's pytree, fixed by nobody outside Lightning
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).*")
    # progress bars are plain text in notebooks without ipywidgets, which is fine
    warnings.filterwarnings("ignore", message='IProgress not found|install "ipywidgets"')
    # PyTorchVideo's, when it is imported
    warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")
    # a home that cannot be written: matplotlib keeps its font cache in a temporary folder, and says so
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    # what a full disk does to W&B's own log
    logging.raiseExceptions = False
    # W&B's banner; what matters of it we say ourselves
    os.environ.setdefault("WANDB_SILENT", "true")


def filter_lightning() -> None:
    """Drop Lightning's advertisements, device lines and hints; called after its import, which sets levels and filters.

    Its warnings are hints to whoever writes a Trainer, and which of them show depends on the machine: where Slurm is
    installed, how many cores there are, whether tensorboard is there. What a user can do something about we check
    ourselves, and say in one line.
    """
    warnings.filterwarnings("ignore", module=r"lightning\b")
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
