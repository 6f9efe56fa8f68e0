"""Parameters, gradients and optimizer state shared out among devices, block by block (FSDP2)."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard


def shard(network: nn.Module, device: str, processes: int, mixed: bool) -> None:
    """Shard each of a network's ``blocks`` (of a CNN: its stages), then the rest; once.

    Args:
        network: its weights are the same in every process.
        device: type of the processes' devices.
        processes: of all nodes.
        mixed: gather and compute in bfloat16, which halves what is sent; gradients are summed in float32.
    """
    if isinstance(network, FSDPModule):
        return
    network.to(memory_format=torch.contiguous_format)  # FSDP2 takes no channels-last weights, which CNNs have
    mesh = init_device_mesh(device, (processes,))
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if mixed else MixedPrecisionPolicy()
    blocks = network.get_submodule("blocks").children() if "blocks" in dict(network.named_children()) else ()
    for module in (*blocks, network):
        fully_shard(module, mesh=mesh, mp_policy=policy)
