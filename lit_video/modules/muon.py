"""timm's Muon with the matrices of equal shape made orthogonal together, on a CPU in float32."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from timm.optim.muon import (
    _COEFFICIENTS,
    Muon,
    _is_suitable_for_muon,
    get_lr_scale,
    resolve_ns_coefficients,
    zeropower_via_newtonschulz,
)
from torch import Tensor, nn

# timm's step without the hooks that PyTorch puts around it: those of the subclass's own step are enough
_step_of_timm = inspect.unwrap(Muon.step)


class StackedMuon(Muon):
    """Muon (Jordan et al., 2024) in timm's form, with Nesterov's momentum; state and checkpoints are timm's.

    timm multiplies in bfloat16, one matrix at a time. Here matrices of equal shape are a batch of one Newton-Schulz
    iteration, and a CPU computes it in float32: faster where a CPU has no units for bfloat16, and equal up to the
    rounding of float32 on CPUs that round products of bfloat16 differently.

    Args:
        params: parameter groups; ``use_fallback`` gives a group to AdamW, as timm gives it vectors, matrices with a
            side below 4, and others by their shape.
        lr: learning rate of groups without one.
    """

    def __init__(self, params: Iterable[Any], lr: float) -> None:
        super().__init__(params, lr=lr, nesterov=True)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters that have a gradient; return the loss of ``closure``, if it is given."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()

        groups = self.param_groups
        self.param_groups = [group | {"params": self._step_matrices(group)} for group in groups]
        try:
            _step_of_timm(self)
        finally:
            self.param_groups = groups
        return loss

    def _step_matrices(self, group: dict[str, Any]) -> list[nn.Parameter]:
        """Update the matrices of a group that have a gradient; return its other parameters."""
        others = []
        stacks = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is None or group.get("use_fallback") or not _is_suitable_for_muon(parameter):
                others.append(parameter)
                continue
            rows = len(parameter)
            stacks[parameter.device, parameter.dtype, rows, parameter.numel() // rows].append(parameter)

        for parameters in stacks.values():
            self._step_stack(parameters, group)
        return others

    def _step_stack(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        """Update parameters that are matrices of one shape, once dimensions from the third on are flattened."""
        updates = torch.stack([self._momentum(parameter, group).flatten(1) for parameter in parameters])
        orthogonal = zeropower_via_newtonschulz(
            updates,
            group["ns_steps"],
            resolve_ns_coefficients(group["ns_coefficients"], _COEFFICIENTS),
            eps=group["eps"],
            safety_factor=group["safety_factor"],
            dtype=torch.float32 if updates.device.type == "cpu" else torch.bfloat16,
        )

        lr = group["lr"]
        rate = lr * get_lr_scale(updates.shape, group["adjust_lr_fn"])
        for parameter, update in zip(parameters, orthogonal, strict=True):
            parameter.mul_(1 - lr * group["weight_decay"])
            parameter.add_(update.view_as(parameter), alpha=-rate)

    def _momentum(self, parameter: nn.Parameter, group: dict[str, Any]) -> Tensor:
        """Add a parameter's gradient to its momentum; return Nesterov's momentum."""
        gradient = parameter.grad
        assert gradient is not None
        state = self.state[parameter]
        if not state:
            state["use_muon"] = True
            state["momentum_buffer"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        buffer: Tensor = state["momentum_buffer"]
        buffer.lerp_(gradient, 1 - group["momentum"])
        return gradient.lerp(buffer, group["momentum"])
