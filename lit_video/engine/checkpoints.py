"""Callbacks that save checkpoints, stop a run at a checkpoint on request, and end it as failed at a non-finite loss."""

import logging
import math
import time
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, Checkpoint
from torch import Tensor, nn
from torch.optim import Optimizer

from lit_video.engine.checkpoint_file import RUN_KEY, CheckpointFile
from lit_video.engine.monitors import refuse_wrong_schedules
from lit_video.engine.resumption import validation_follows
from lit_video.errors import RunFailed
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.utils.stop_signals import AGAIN, PREEMPTED, STATUS, StopSignals

_logger = logging.getLogger(__name__)


class RequireFinite(Callback):
    """Check of every loss and validation metric; NaN or infinity ends the run as failed.

    On a GPU a loss is checked one step later, so that no step waits for it. Up to ``skip`` steps with a non-finite loss
    or gradient leave out their update and do not end the run.
    """

    def __init__(self, skip: int = 0) -> None:
        self.skip = skip
        self.skipped = 0
        self.found = ""  # message that names a non-finite loss and its step
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
            self.found = f"loss is {float(loss)} at step {step}"
        self._may_skip = self.skipped < self.skip

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check the metrics, which are equal on all processes."""
        refuse_not_finite(metrics_of(trainer, "val/"), f"validation after step {trainer.global_step}")

    def fail(self) -> None:
        """End the run as failed."""
        what = self.found or "the loss of another process is not finite"
        raise RunFailed(f"{what}; lower the learning rate, or start over and allow some such steps with --nan skip:N")


def metrics_of(trainer: Trainer, split: str) -> dict[str, float]:
    """Return the metrics of one split as numbers."""
    return {key: float(value) for key, value in trainer.callback_metrics.items() if key.startswith(split)}


def refuse_not_finite(values: dict[str, float], where: str) -> None:
    """Raise :class:`RunFailed` if a number is NaN or infinite."""
    for key, value in values.items():
        if not math.isfinite(value):
            raise RunFailed(f"{key} is {value} in the {where}: no result")


class Stopped(Exception):
    """End of training at a checkpoint, on all processes; ``reason`` is ``max_time`` or a signal's name."""

    def __init__(self, reason: str, step: int, steps: int) -> None:
        super().__init__(f"stopped by {reason} at step {step} of {steps}; {AGAIN}")
        self.step = step
        self.steps = steps
        self.status = STATUS[Signals[reason]] if reason in Signals.__members__ else PREEMPTED


# actions that a process may request after a step, by rising priority; all processes take the highest one requested
_NOTHING = ""
SAVE = "save"
TIME_OVER = "max_time"
NOT_FINITE = "not finite"
ACTIONS = (_NOTHING, SAVE, TIME_OVER, "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", NOT_FINITE)


@dataclass(eq=False)
class Checkpoints(Checkpoint):
    """Callback that writes ``last.ckpt``: at intervals, before validation, at the end, on a signal."""

    run_dir: Path
    every: float  # seconds
    max_time: float | None  # seconds of training in this process
    stops: StopSignals
    file: CheckpointFile
    finite: RequireFinite
    record: dict[str, Any]  # identity and changes of the run

    def __post_init__(self) -> None:
        self.path = self.run_dir / LAST
        self._group: Any = None
        self._start = self._saved = time.monotonic()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add the run's identity and changes, which are checked when the run resumes."""
        checkpoint[RUN_KEY] = self.record

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse schedules that monitor in the wrong mode; defer signals to the end of a step from now on."""
        refuse_wrong_schedules(trainer)
        if trainer.world_size > 1:
            self._group = dist.new_group(backend="gloo")
        self.stops.waits = True
        self._start = self._saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save or stop, if due, after a complete optimizer step."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        action = self._agree(self._wanted_action(trainer))
        if action == _NOTHING:
            return
        if action == NOT_FINITE:
            self.file.flush()
            self.finite.fail()
        if _training_ends(trainer):
            return

        trainer.save_checkpoint(self.path)
        self._saved = time.monotonic()
        if action != SAVE:
            self._stop(trainer, action)

    def on_validation_batch_end(self, trainer: Trainer, *args: Any, **kwargs: Any) -> None:
        """Stop during validation if requested; the checkpoint was saved before validation."""
        if not self.stops.waits:
            return
        action = self._agree(self._wanted_action(trainer))
        if action not in (_NOTHING, SAVE, NOT_FINITE):
            self._stop(trainer, action)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the final checkpoint; from now on signals end the process at once."""
        if self._agree(self._wanted_action(trainer)) == NOT_FINITE:
            self.finite.fail()
        trainer.save_checkpoint(self.path)
        self._flush(trainer)
        self.stops.waits = False
        if self.stops.received is not None:
            self.stops.end(self.stops.received)

    def _stop(self, trainer: Trainer, reason: str) -> NoReturn:
        self._flush(trainer)
        raise Stopped(reason, trainer.global_step, int(trainer.estimated_stepping_batches))

    def _flush(self, trainer: Trainer) -> None:
        """Wait until rank 0 has written the checkpoint to disk."""
        self.file.flush()
        trainer.strategy.barrier()

    def _wanted_action(self, trainer: Trainer) -> str:
        """Return the action that this process requests."""
        now = time.monotonic()
        if self.finite.found:
            return NOT_FINITE
        if self.stops.received is not None:
            return self.stops.received.name
        if self.max_time is not None and now - self._start >= self.max_time:
            return TIME_OVER
        if now - self._saved >= self.every:
            return SAVE

        # no checkpoint can be made within a validation, nor at a step that ends the training
        is_last_chance = validation_follows(trainer) or trainer.global_step + 1 == trainer.max_steps
        return SAVE if is_last_chance else _NOTHING

    def _agree(self, action: str) -> str:
        """Return the highest-priority action in any process; communicate on the CPU, without waiting for devices."""
        if self._group is None:
            return action
        code = torch.tensor(ACTIONS.index(action))
        dist.all_reduce(code, dist.ReduceOp.MAX, group=self._group)
        return ACTIONS[int(code)]


def _training_ends(trainer: Trainer) -> bool:
    """Return whether training ends after this step, whatever step of the epoch it is.

    Resumed from a checkpoint of such a step, Lightning would leave out the validation and the end of the epoch.
    """
    return trainer.should_stop or trainer.global_step == trainer.max_steps
