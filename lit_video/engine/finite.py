"""Check that losses and metrics are finite: a run with NaN or infinity ends as failed."""

import logging
import math
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only
from torch import Tensor, nn
from torch.optim import Optimizer

from lit_video.errors import RunFailed

_logger = logging.getLogger(__name__)


class _Loss(NamedTuple):
    """Loss of a batch on its way to the CPU, with what its check needs to know of the batch's step."""

    value: Tensor
    step: int
    may_skip: bool  # whether the step may leave out its update
    is_scaled: bool  # whether float16's scaler leaves out the update, so that the check counts the step
    is_copied: torch.cuda.Event | None  # event after the copy; on a CPU there is no copy


class RequireFinite(Callback):
    """Check of every loss and validation metric; NaN or infinity ends the run as failed.

    On a GPU a loss is checked one step later, so that no step waits for it. Up to ``skip`` steps with a non-finite loss
    or gradient leave out their update and do not end the run. With float16's scaler, which leaves out all such updates
    and looks for its scale by them, only steps with a non-finite loss count.
    """

    def __init__(self, skip: int = 0) -> None:
        self.skip = skip
        self._reset()

    def _reset(self) -> None:
        """Begin the counts of a fit."""
        self.skipped = 0
        self.message = ""  # message that names a non-finite loss and its step
        self._may_skip = self.skip > 0  # whether the current step may leave out its update
        self._counted = 0  # last step that float16's scaler left out because of its loss
        self._pending: _Loss | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Forget an earlier fit, before Lightning loads the checkpoint of this one."""
        if stage == "fit":
            self._reset()

    def state_dict(self) -> dict[str, Any]:
        """Return the number of updates left out, the last step's included."""
        self._check_pending()
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

        optimizer.zero_grad(set_to_none=True)  # the optimizer skips parameters without a gradient
        self._count(trainer.global_step + 1, "gradient")

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Check the loss of this step on a CPU, and of the previous step on a GPU."""
        self._check_pending()
        loss = outputs["loss"].detach()
        is_scaled = trainer.scaler is not None
        if is_scaled and self.skip and trainer.world_size > 1:
            loss = loss.clone()
            dist.all_reduce(loss)  # the sum is not finite if one loss is not: all processes count the same steps

        value = loss.to("cpu", non_blocking=True)
        is_copied = None
        if loss.is_cuda:
            is_copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            is_copied.record()

        is_inside = bool((batch_idx + 1) % trainer.accumulate_grad_batches) and not trainer.is_last_batch
        step = trainer.global_step + is_inside
        self._pending = _Loss(value, step, self._may_skip, is_scaled, is_copied)
        if not loss.is_cuda:
            self._check_pending()
        self._may_skip = self.skipped < self.skip

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check the last loss."""
        self._check_pending()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check the metrics, which are equal on all processes."""
        refuse_not_finite(metrics_of(trainer, "val/"), f"validation after step {trainer.global_step}")

    def _check_pending(self) -> None:
        """Check the last loss that was not checked: a non-finite one is counted, or gives the message."""
        loss = self._pending
        self._pending = None
        if loss is None:
            return
        if loss.is_copied:
            loss.is_copied.synchronize()
        if math.isfinite(float(loss.value)):
            return

        is_counted = loss.step == self._counted  # batches of one step count once
        may_skip = is_counted or self.skipped < self.skip if loss.is_scaled else loss.may_skip
        if not may_skip:
            self.message = f"loss is {float(loss.value)} at step {loss.step}"
        elif loss.is_scaled and not is_counted:
            self._counted = loss.step
            self._count(loss.step, "loss")

    def _count(self, step: int, part: str) -> None:
        """Count an update that is left out, and tell the user."""
        self.skipped += 1
        allowed = f"{self.skip - self.skipped} more allowed"
        rank_zero_only(_logger.info)(f"step {step}: {part} is not finite, update left out ({allowed})")

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
