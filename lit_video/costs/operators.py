"""How many operators a training step starts, without computing anything."""

import copy
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

NO_WORK = {"empty", "empty_like", "_unsafe_view", "detach"}


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operators that are no views."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.count += func.namespace == "aten" and not func.is_view and name not in NO_WORK
        return func(*args, **(kwargs or {}))


def operators(network: nn.Module, shape: tuple[int, ...], bfloat16: bool) -> int:
    """Operators that compute or copy in a forward and a backward pass; a GPU starts about as many kernels.

    Args:
        network: on any device.
        shape: of the batch, ``(b, 3, t, height, width)``.
        bfloat16: bfloat16 autocast, else float32.
    """
    shadow = copy.deepcopy(network).to("meta")
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = shadow.to_empty(device="cpu").train()
        with _Operators() as counted:  # type: ignore[no-untyped-call]
            with torch.autocast("cpu", torch.bfloat16, bfloat16):
                logits = fake(torch.empty(shape))
            torch.autograd.backward(logits.float().sum())
    return counted.count
