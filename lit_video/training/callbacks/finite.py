"""Ends a training whose numbers are no longer finite: what follows would be no result."""

import math
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from lit_video.errors import RunFailed

FILE = "nonfinite.pt"


class RequireFinite(Callback):
    """Looks at every loss and every validation metric; a NaN or an infinity ends the run as failed.

    On a GPU a loss is looked at one step later, so that no step waits for it. The batch, step and rank are kept in
    ``nonfinite.pt`` (of rank r in ``nonfinite_r.pt``), to be read by ``torch.load``.

    Args:
        run_dir: folder of the run.
        skip: steps whose update may be left out because loss or gradient is not finite, before the run ends.
    """

    def __init__(self, run_dir: Path, skip: int = 0) -> None:
        self.run_dir = run_dir
        self.skip = skip
        self.skipped = 0
        self.found: dict[str, Any] | None = None
        self._may_skip = skip > 0  # the step at hand
        self._pending: tuple[Tensor, Any, dict[str, Any]] | None = None

    def state_dict(self) -> dict[str, Any]:
        """How many steps were left out."""
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
        facts = {"step": trainer.global_step, "epoch": trainer.current_epoch, "batch_idx": batch_idx}
        loss = outputs["loss"].detach().to("cpu", non_blocking=True)
        if outputs["loss"].is_cuda:
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
            pending, self._pending = self._pending, (loss, (done, batch), facts)
            if pending is None:
                return
            loss, (before, batch), facts = pending
            before.synchronize()
        facts["rank"] = trainer.global_rank
        if not math.isfinite(float(loss)) and not self._may_skip:
            self.found = facts | {"loss": float(loss), "batch": batch}
        self._may_skip = self.skipped < self.skip

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Look at the metrics, which all processes share."""
        values = {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith("val/")}
        refuse_not_finite(values, f"validation after step {trainer.global_step}")

    def fail(self) -> None:
        """Keep the batch, and end the run.

        Raises:
            RunFailed: always.
        """
        if self.found:
            name = FILE if self.found["rank"] == 0 else f"nonfinite_{self.found['rank']}.pt"
            torch.save(self.found, self.run_dir / name)
            what = f"loss is {self.found['loss']} at step {self.found['step']}; its batch is in {self.run_dir / name}"
        else:
            what = "the loss of another process is not finite"
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
