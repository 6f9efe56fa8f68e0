"""Check that losses and metrics are finite: a run with NaN or infinity ends as failed."""

import logging
import math
from typing import Any

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.optim import Optimizer

from lit_video.errors import RunFailed

_logger = logging.getLogger(__name__)


class RequireFinite(Callback):
    """Check of every loss and validation metric; NaN or infinity ends the run as failed.

    On a GPU a loss is checked one step later, so that no step waits for it. Up to ``skip`` steps with a non-finite loss
    or gradient leave out their update and do not end the run.
    """

    def __init__(self, skip: int = 0) -> None:
        self.skip = skip
        self.skipped = 0
        self.message = ""  # message that names a non-finite loss and its step
        self._may_skip = skip > 0  # whether the current step may leave out its update
        self._pending: tuple[Tensor, torch.cuda.Event, int] | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return the number of updates left out."""
        return {"skipped": self.skipped}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the number of updates left out."""
        self.skipped = state_dict["skipped"]
        self._may_skip = self.skipped < self.skip

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer) -> None:
        """Leave out the update, while allowed, if some process has a non-finite gradient."""
        if not self._may_skip or trainer.scaler is not None:  # float16's scaler leaves out such steps itself
            return

        gradients = [parameter.grad for parameter in pl_module.parameters() if parameter.grad is not None]
        is_finite = nn.utils.get_total_norm(gradients, norm_type=math.inf).isfinite()
        bad = torch.tensor(not is_finite, device=pl_module.device).float()
        if trainer.world_size > 1:
            dist.all_reduce(bad, dist.ReduceOp.MAX)
        if not bad:
            return

        self.skipped += 1
        optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without a gradient
        if trainer.is_global_zero:
            allowed = f"{self.skip - self.skipped} more allowed"
            _logger.info(f"step {trainer.global_step}: gradient is not finite, update left out ({allowed})")

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Check the loss of this step on a CPU, and of the previous step on a GPU."""
        step = trainer.global_step
        loss = outputs["loss"].detach().to("cpu", non_blocking=True)

        if outputs["loss"].is_cuda:
            is_copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            is_copied.record()
            previous = self._pending
            self._pending = (loss, is_copied, step)
            if previous is None:
                return
            loss, is_copied, step = previous
            is_copied.synchronize()

        if not math.isfinite(float(loss)) and not self._may_skip:
            self.message = f"loss is {float(loss)} at step {step}"
        self._may_skip = self.skipped < self.skip

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check the metrics, which are equal on all processes."""
        refuse_not_finite(metrics_of(trainer, "val/"), f"validation after step {trainer.global_step}")

    def fail(self) -> None:
        """End the run as failed."""
        what = self.message or "the loss of another process is not finite"
        raise RunFailed(f"{what}; lower the learning rate, or start over and allow some such steps with --nan skip:N")


def metrics_of(trainer: Trainer, split: str) -> dict[str, float]:
    """Return the metrics of one split as numbers."""
    return {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith(split)}


def refuse_not_finite(values: dict[str, float], where: str) -> None:
    """Raise :class:`RunFailed` if a number is NaN or infinite."""
    for key, value in values.items():
        if not math.isfinite(value):
            raise RunFailed(f"{key} is {value} in the {where}: no result")
