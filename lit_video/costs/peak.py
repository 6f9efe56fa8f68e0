"""The peak of a training step's memory, predicted without computing anything, and the longest clip that fits."""

import copy
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lit_video.modules.optimization import Optimization, make_optimizer

Part = Literal["weights", "gradients", "optimizer", "activations", "workspace"]
STEP = 8  # frames by which clips grow: tubelets, groups of frames and pathways divide them
MOST = 4096  # frames that no clip has


@dataclass(frozen=True)
class Peak:
    """Bytes at the moment of a training step in which most are held.

    Args:
        weights: parameters and buffers.
        gradients: of parameters.
        optimizer: its state, such as momentum.
        activations: what was made in the forward pass, the clips included, and is still held.
        workspace: what was made in the backward pass or the optimizer's step: gradients of activations, activations
            that are computed again.
    """

    weights: int
    gradients: int
    optimizer: int
    activations: int
    workspace: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.workspace


class _Held(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all storages that are held, by what they are, as operators make them and let them go."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.phase: Part = "weights"
        self.now: Counter[Part] = Counter()
        self.most: Counter[Part] = Counter()
        self._parts: dict[int, Part] = {}

    def count(self, tensor: Tensor, part: Part) -> None:
        """Count a tensor's storage, from now on as this part."""
        storage = tensor.untyped_storage()
        if id(storage) in self._parts:
            self.now[self._parts[id(storage)]] -= storage.nbytes()
        else:
            weakref.finalize(storage, self._freed, id(storage), storage.nbytes())
        self._parts[id(storage)] = part
        self.now[part] += storage.nbytes()
        if self.now.total() > self.most.total():
            self.most = self.now.copy()

    def _freed(self, storage: int, size: int) -> None:
        self.now[self._parts.pop(storage)] -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and id(tensor.untyped_storage()) not in self._parts:
                self.count(tensor, self.phase)
        return result


class _FirstStep(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Gives an optimizer that asks for its count of steps, which has no value here, the number of the first."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 1 if func is torch.ops.aten._local_scalar_dense.default else func(*args, **(kwargs or {}))


def training_peak(network: nn.Module, shape: tuple[int, ...], optimization: Optimization, bfloat16: bool) -> Peak:
    """The peak of a training step over a batch ``(b, 3, t, height, width)``, the optimizer's state being there.

    Every operator of a step is called, as Lightning orders them (the gradients of the step before are let go between
    the forward and the backward pass), on tensors that have shapes but no memory, and are those of a CPU, whose
    attention keeps what a GPU's flash attention does; optimizers are fused, as on a GPU.

    Not counted: what an operator needs inside itself (workspaces of cuBLAS and cuDNN; an X3D's depthwise convolutions
    on a CPU take a sixth more than counted, other families up to 4 %), what an allocator rounds up or
    cannot use, the CUDA context (about half a GB), buckets of DDP, the next batch that is moved ahead, and clips as
    they come from the decoder, a quarter of those that are counted. Of compiled networks the compiler decides itself
    what is kept: often less.

    Args:
        network: on any device; ``meta`` will do. Its activation checkpointing counts.
        shape: of the batch.
        optimization: the optimizer.
        bfloat16: bfloat16 autocast (``bf16-mixed``), else float32.
    """
    shadow = copy.deepcopy(network).to("meta")
    held = _Held()
    with FakeTensorMode(allow_non_fake_inputs=True), _FirstStep():  # type: ignore[no-untyped-call]
        fake = shadow.to_empty(device="cpu").train()
        optimizer = make_optimizer(optimization, fake)
        for group in optimizer.param_groups:
            group |= {"fused": True} if "fused" in group else {}
        for parameter in fake.parameters():
            held.count(parameter, "weights")
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter)
                hook = parameter.register_post_accumulate_grad_hook
                hook(lambda p: held.count(p.grad, "gradients"))  # type: ignore[no-untyped-call]
                held.count(parameter.grad, "gradients")
        for buffer in fake.buffers():
            held.count(buffer, "weights")
        optimizer.step()
        for tensor in tree_leaves(list(optimizer.state.values())):
            if isinstance(tensor, Tensor):
                held.count(tensor, "optimizer")
        with held:
            _step(fake, optimizer, shape, bfloat16, held)
    return Peak(**{part: held.most[part] for part in get_args(Part)})


def _step(
    network: nn.Module, optimizer: torch.optim.Optimizer, shape: tuple[int, ...], bfloat16: bool, held: _Held
) -> None:
    held.phase = "activations"
    clip = torch.empty(shape)
    with torch.autocast("cpu", torch.bfloat16, bfloat16):
        logits = network(clip)
        loss = F.cross_entropy(logits, torch.empty_like(logits), reduction="sum") / len(logits)
    held.phase = "workspace"
    optimizer.zero_grad()
    torch.autograd.backward(loss)
    optimizer.step()


def longest_clip(peak: Callable[[int], int], memory: float, first: int) -> int:
    """The most frames, a multiple of 8, whose step fits; 0 if not even 8 do, ``MOST`` if these do too.

    Peaks grow with the frames, near the limit as a straight line: the search follows it, and ends where a clip fits and
    what is left would not hold 8 frames more.

    Args:
        peak: frames to bytes, growing.
        memory: bytes.
        first: frames to begin with.
    """
    known = {frames: peak(frames) for frames in (_multiple(first), 2 * _multiple(first))}
    while True:
        fits = max((frames for frames, size in known.items() if size <= memory), default=0)
        fails = min((frames for frames, size in known.items() if size > memory), default=MOST + STEP)
        if fails - fits <= STEP:
            return fits
        a, b = sorted(sorted(known, key=lambda frames: abs(known[frames] - memory))[:2])
        slope = max((known[b] - known[a]) / (b - a), 1.0)
        if fits and (memory - known[fits]) < slope * STEP and fits in (a, b):
            return fits
        guess = _multiple(min(a + (memory - known[a]) / slope, MOST))
        guess = min(max(guess, fits + STEP), fails - STEP)
        known[guess] = peak(guess)


def _multiple(frames: float) -> int:
    return max(int(frames // STEP) * STEP, STEP)
