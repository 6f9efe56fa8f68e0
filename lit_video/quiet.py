"""Silence for messages of other packages that tell a user of ours nothing; each with its reason. Imports no torch."""

import logging
import warnings


def quiet() -> None:
    """Filter known noise, in this process."""
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
    # our samplers do what Lightning advises here
    warnings.filterwarnings("ignore", message="Using `DistributedSampler` with the dataloaders")
    # the advertisement and device lines that Lightning prints for every trainer
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_no_advice)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)


def _no_advice(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO
