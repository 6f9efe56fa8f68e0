"""Stops a training whose loss is not finite."""

import math
from typing import Any

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from lit_video.errors import RunFailed


class RequireFinite(Callback):
    """Looks at every loss and every validation metric; a NaN or an infinity ends the run as failed.

    On a GPU a loss is looked at one step later, so that no step waits for it. Before the run ends, ``skip`` steps may
    leave out their update because loss or gradient is not finite.
    """

    def __init__(self, skip: int = 0) -> None:
        self.skip = skip
        self.skipped = 0
        self.found = ""  # a loss and its step
        self._may_skip = skip > 0  # the step at hand
        self._pending: tuple[Tensor, torch.cuda.Event, int] | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return how many steps were left out."""
        return {"skipped": self.skipped}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.skipped = state_dict["skipped"]
        self._may_skip = self.skipped < self.skip

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Leave out the update of a step whose gradient is not finite on any process, while that is allowed."""
        if not self._may_skip or trainer.scaler is not None:  # float16's scaler leaves out such steps itself
            return
        bad = torch.tensor(not _finite_gradient(pl_module), device=pl_module.device).float()
        if trainer.world_size > 1:
            dist.all_reduce(bad, dist.ReduceOp.MAX)
        if bad:
            self.skipped += 1
            optimizer.zero_grad(set_to_none=True)  # without gradients nothing moves, momentum and decay included
            if trainer.is_global_zero:
                left = f"{self.skip - self.skipped} more allowed"
                print(f"step {trainer.global_step}: gradient is not finite, update left out ({left})", flush=True)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the loss: at once on a CPU, at the step before on a GPU."""
        step, loss = trainer.global_step, outputs["loss"].detach().to("cpu", non_blocking=True)
        if outputs["loss"].is_cuda:
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
            pending, self._pending = self._pending, (loss, done, step)
            if pending is None:
                return
            loss, before, step = pending
            before.synchronize()
        if not math.isfinite(float(loss)) and not self._may_skip:
            self.found = f"loss is {float(loss)} at step {step}"
        self._may_skip = self.skipped < self.skip

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Look at the metrics, which all processes share."""
        values = {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith("val/")}
        refuse_not_finite(values, f"validation after step {trainer.global_step}")

    def fail(self) -> None:
        """End the run as failed."""
        what = self.found or "the loss of another process is not finite"
        raise RunFailed(f"{what}; lower the learning rate, or start over and allow some such steps with --nan skip:N")


def refuse_not_finite(values: dict[str, float], where: str) -> None:
    """Refuse numbers that are no results.

    Raises:
        RunFailed: one is NaN or infinite.
    """
    for key, value in values.items():
        if not math.isfinite(value):
            raise RunFailed(f"{key} is {value} in the {where}: no result")


def _finite_gradient(module: nn.Module) -> bool:
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    return bool(nn.utils.get_total_norm(gradients, norm_type=math.inf).isfinite())
