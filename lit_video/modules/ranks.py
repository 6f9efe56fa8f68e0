"""Numbers over all processes of a run."""

import torch.distributed as dist
from torch import Tensor


def mean_over_ranks(value: Tensor) -> Tensor:
    """The mean of every process's value; all of them must call it.

    The host does not wait for the device, as it does in Lightning's own reduction, which sets a barrier.
    """
    if not dist.is_available() or not dist.is_initialized():
        return value
    total = value.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()
