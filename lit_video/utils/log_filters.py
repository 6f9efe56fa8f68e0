"""Silence for messages of other packages that tell a user of ours nothing; each with its reason. Imports no torch."""

import logging
import os
import warnings


def quiet() -> None:
    """Filter known noise, in this process; called before the packages that make it are imported."""
    # Lightning's own use of torch's pytree, fixed by nobody outside Lightning
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\).*")
    # one folder per run is our design: a run that resumes finds its folder full
    warnings.filterwarnings("ignore", message="Checkpoint directory .* exists and is not empty")
    # our own command line hands over the row's arguments, and re-execution by DDP expands them again
    warnings.filterwarnings("ignore", message="LightningCLI's args parameter")
    # short epochs are meant in the embedded scale
    warnings.filterwarnings("ignore", message="The number of training batches .* is smaller than the logging interval")
    # workers are chosen in the YAML: one per core
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    # the repeats of a padded last batch are counted once by our metric
    warnings.filterwarnings("ignore", message="Using `DistributedSampler` with the dataloaders")
    # our data module is resumable: its sampler leaves out what the checkpoint has seen (tests/test_resume.py)
    warnings.filterwarnings("ignore", message="You're resuming from a checkpoint that ended before the epoch ended")
    # a run's checkpoint names the callbacks that made it; a test needs none of them
    warnings.filterwarnings("ignore", message="Be aware that when using `ckpt_path`")
    # progress bars are plain text in notebooks without ipywidgets, which is fine
    warnings.filterwarnings("ignore", message='IProgress not found|install "ipywidgets"')
    # W&B's banner; what matters of it we say ourselves
    os.environ.setdefault("WANDB_SILENT", "true")


def filter_loggers() -> None:
    """Drop Lightning's advertisements and device lines; called after its import, which sets the levels."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
