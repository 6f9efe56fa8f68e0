"""Saves a run's checkpoint in time, stops the run there when it is asked to, and goes on as if it had not stopped."""

import time
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, Checkpoint
from torch.optim.lr_scheduler import LambdaLR

from lit_video.training.callbacks.finite import RequireFinite
from lit_video.training.checkpoint_file import LAST, RUN_KEY, CheckpointFile
from lit_video.utils.stop_signals import AGAIN, PREEMPTED, STATUS, StopSignals
from lit_video.video.seeding import digest


class Stopped(Exception):
    """Training stopped at a checkpoint, on all processes, by ``max_time`` or the signal of this name."""

    def __init__(self, reason: str, step: int, steps: int) -> None:
        super().__init__(f"stopped by {reason} at step {step} of {steps}; {AGAIN}")
        self.step = step
        self.steps = steps
        self.status = STATUS[Signals[reason]] if reason in Signals.__members__ else PREEMPTED


# a process's wish after a step; all processes do the last of these that any one asks for
NOTHING, SAVE, TIME_OVER, NOT_FINITE = "", "save", "max_time", "not finite"
ACTIONS = (NOTHING, SAVE, TIME_OVER, "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", NOT_FINITE)


@dataclass(eq=False)
class Checkpoints(Checkpoint):
    """Saves ``last.ckpt`` between steps: every so often, before a validation, and when a signal or the time says stop.

    After every step all processes agree what to do, on the CPU: the step on the devices is not waited for.
    """

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
        """Add what the run was made with, which must fit when it goes on."""
        checkpoint[RUN_KEY] = self.record

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let signals wait for the end of a step from here on."""
        if trainer.world_size > 1:
            self._group = dist.new_group(backend="gloo")
        self.stops.waits = True
        self._start = self._saved = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save and stop, if it is time, where an optimizer's step is complete."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        action = self._agree(self._wanted_action(trainer))
        if action == NOTHING:
            return
        if action == NOT_FINITE:
            self.file.flush()
            self.finite.fail()
        trainer.save_checkpoint(self.path)
        self._saved = time.monotonic()
        if action != SAVE:
            self._stop(trainer, action)

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Stop in a validation; the checkpoint before it is there."""
        if not self.stops.waits:
            return
        action = self._agree(self._wanted_action(trainer))
        if action not in (NOTHING, SAVE, NOT_FINITE):
            self._stop(trainer, action)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let signals end the process at once from here on: after the final checkpoint nothing is lost."""
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
        """Wait until the first process has the checkpoint on the disk."""
        self.file.flush()
        trainer.strategy.barrier()

    def _wanted_action(self, trainer: Trainer) -> str:
        now = time.monotonic()
        if self.finite.found:
            return NOT_FINITE
        if self.stops.received is not None:
            return self.stops.received.name
        if self.max_time is not None and now - self._start >= self.max_time:
            return TIME_OVER
        return SAVE if now - self._saved >= self.every or _validates(trainer) else NOTHING

    def _agree(self, action: str) -> str:
        if self._group is None:
            return action
        code = torch.tensor(ACTIONS.index(action))
        dist.all_reduce(code, dist.ReduceOp.MAX, group=self._group)
        return ACTIONS[int(code)]


def _validates(trainer: Trainer) -> bool:
    """Return whether a validation follows, in which no checkpoint can be made."""
    every = trainer.check_val_every_n_epoch
    due = every is not None and (trainer.current_epoch + 1) % every == 0
    return trainer.is_last_batch and due


class ExactResumption(Callback):
    """Makes dropout a function of (seed, step, batch), and the learning rate one of the step.

    A resumed run then draws what an uninterrupted one draws, on any devices.
    """

    def __init__(self) -> None:
        self._seed = 0

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember the run's seed before training draws from its stream."""
        self._seed = torch.initial_seed()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the rate from the schedule: where training has become longer, the checkpoint's is another."""
        for schedule in (config.scheduler for config in trainer.lr_scheduler_configs):
            if isinstance(schedule, LambdaLR):
                groups = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
                for group, base, share in groups:
                    group["lr"] = base * share(schedule.last_epoch)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Seed a batch's draws; the batches of a step are counted over accumulation and ranks."""
        accumulated = batch_idx % trainer.accumulate_grad_batches
        batch_of_step = accumulated * trainer.world_size + trainer.global_rank
        torch.manual_seed(digest(self._seed, trainer.global_step, batch_of_step))
