"""Batches copied to a GPU while it computes."""

from functools import cache
from typing import Any

import torch
from lightning.fabric.utilities.apply_func import move_data_to_device
from lightning_utilities.core.apply_func import apply_to_collection


def copy_beside(batch: Any, device: torch.device) -> Any:
    """Copy a batch to a GPU on a stream of its own, beside the kernels of the step before, which the host is ahead of.

    What follows on the current stream waits for the copy; the host does not, where the batch is in pinned memory.
    """
    copies, computes = _copies(device), torch.cuda.current_stream(device)
    with torch.cuda.stream(copies):
        moved = move_data_to_device(batch, device)
    computes.wait_stream(copies)
    # the memory of the copy is free for others when the step has read it, not before
    apply_to_collection(moved, torch.Tensor, lambda x: x.record_stream(computes))
    return moved


@cache
def _copies(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
