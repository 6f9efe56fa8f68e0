"""What a training step keeps and starts: bytes for the backward pass, operators; without computing anything."""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode

from lit_video.network.block import Block

NO_WORK = {"empty", "empty_like", "_unsafe_view", "detach"}


@dataclass(frozen=True)
class TrainingPass:
    """Forward and backward pass of a batch.

    Args:
        saved: bytes that autograd keeps for the backward pass, parameters not counted, shared storage once.
        inputs: bytes of the inputs of all blocks, among them.
        operators: that compute or copy, of both passes; on a GPU about as many kernels are started.
    """

    saved: int
    inputs: int
    operators: int


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operators that are no views."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        self.count += func.namespace == "aten" and not func.is_view and name not in NO_WORK
        return func(*args, **(kwargs or {}))


def training_pass(network: nn.Module, shape: tuple[int, ...], bfloat16: bool) -> TrainingPass:
    """Count a pass over a batch ``(b, 3, t, height, width)``, with bfloat16 autocast or in float32.

    Tensors have shapes but no memory, and are those of a CPU, whose attention keeps what a GPU's flash attention does.
    """
    kept: dict[int, torch.UntypedStorage] = {}
    inputs: list[int] = []

    def note(module: nn.Module, args: tuple[Any, ...]) -> None:
        inputs.append(args[0].nbytes)

    shadow = copy.deepcopy(network).to("meta")
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = shadow.to_empty(device="cpu").train()
        weights = {p.untyped_storage()._cdata for p in fake.parameters()}

        def pack(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in weights:
                kept[storage._cdata] = storage  # held, so that no other storage gets its address
            return tensor

        hooks = [m.register_forward_pre_hook(note) for m in fake.modules() if isinstance(m, Block)]
        with _Operators() as operators:  # type: ignore[no-untyped-call]
            with saved_tensors_hooks(pack, lambda tensor: tensor), torch.autocast("cpu", torch.bfloat16, bfloat16):
                logits = fake(torch.empty(shape))
            torch.autograd.backward(logits.float().sum())
        for hook in hooks:
            hook.remove()
    return TrainingPass(sum(s.nbytes() for s in kept.values()), sum(inputs), operators.count)
