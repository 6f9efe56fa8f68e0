"""Saves a run's checkpoint in time, and stops the run there when it is asked to."""

import signal
import time
from datetime import timedelta
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from lit_video.training.callbacks.finite import RequireFinite
from lit_video.training.checkpoint_file import LAST, RUN_KEY, CheckpointFile
from lit_video.utils.stop_signals import StopSignals


class Stopped(Exception):
    """Training stopped at a checkpoint, on all processes.

    Args:
        reason: the signal's name, or ``max_time``.
        step: reached.
        steps: optimizer steps of the whole training.
    """

    def __init__(self, reason: str, step: int, steps: int) -> None:
        super().__init__(reason, step, steps)
        self.reason = reason
        self.step = step
        self.steps = steps


class _Action(IntEnum):
    """Action that a process asks for after a step; all processes take the greatest that any asks for."""

    NOTHING = 0
    SAVE = 1
    TIME_OVER = 2
    USR1 = 3
    USR2 = 4
    TERM = 5
    INT = 6
    NOT_FINITE = 7


_OF_SIGNAL = {
    signal.SIGUSR1: _Action.USR1,
    signal.SIGUSR2: _Action.USR2,
    signal.SIGTERM: _Action.TERM,
    signal.SIGINT: _Action.INT,
}
_REASONS = {action: number.name for number, action in _OF_SIGNAL.items()} | {_Action.TIME_OVER: "max_time"}


class Checkpoints(Checkpoint):
    """Saves ``last.ckpt`` between steps: every so often, before a validation, and when a signal or the time says stop.

    After every step all processes agree what to do, on the CPU: the step on the devices is not waited for.

    Args:
        run_dir: folder of the run.
        every: seconds between checkpoints.
        max_time: seconds of training in this process; ``None`` for no limit.
        stops: the signals.
        file: writer of checkpoints.
        finite: check of the losses.

    Attributes:
        record: identity and changes of the run, kept in the checkpoint.
    """

    def __init__(
        self,
        run_dir: Path,
        every: float,
        max_time: timedelta | None,
        stops: StopSignals,
        file: CheckpointFile,
        finite: RequireFinite,
    ) -> None:
        self.path = run_dir / LAST
        self.every = every
        self.max_time = max_time.total_seconds() if max_time is not None else float("inf")
        self.stops = stops
        self.file = file
        self.finite = finite
        self.record: dict[str, Any] = {}
        self._group: Any = None
        self._start = self._saved = time.monotonic()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add what the run was made with, which must fit when it goes on."""
        checkpoint[RUN_KEY] = self.record

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """From here on a signal waits for the end of a step."""
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
        if action is _Action.NOTHING:
            return
        if action is _Action.NOT_FINITE:
            self.file.flush()
            self.finite.fail()
        trainer.save_checkpoint(self.path)
        self._saved = time.monotonic()
        if action is not _Action.SAVE:
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
        if action in _REASONS:
            self._stop(trainer, action)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """From here on a signal ends the process at once: after the final checkpoint nothing is lost."""
        if self._agree(self._wanted_action(trainer)) is _Action.NOT_FINITE:
            self.finite.fail()
        trainer.save_checkpoint(self.path)
        self._flush(trainer)
        self.stops.waits = False
        if self.stops.received is not None:
            self.stops.end(self.stops.received)

    def _stop(self, trainer: Trainer, action: _Action) -> NoReturn:
        self._flush(trainer)
        raise Stopped(_REASONS[action], trainer.global_step, int(trainer.estimated_stepping_batches))

    def _flush(self, trainer: Trainer) -> None:
        """Wait until the first process has the checkpoint on the disk."""
        self.file.flush()
        trainer.strategy.barrier()

    def _wanted_action(self, trainer: Trainer) -> _Action:
        now = time.monotonic()
        if self.finite.found:
            return _Action.NOT_FINITE
        if self.stops.received is not None:
            return _OF_SIGNAL[self.stops.received]
        if now - self._start >= self.max_time:
            return _Action.TIME_OVER
        return _Action.SAVE if now - self._saved >= self.every or _validates(trainer) else _Action.NOTHING

    def _agree(self, action: _Action) -> _Action:
        if self._group is None:
            return action
        code = torch.tensor(int(action))
        dist.all_reduce(code, dist.ReduceOp.MAX, group=self._group)
        return _Action(int(code))


def _validates(trainer: Trainer) -> bool:
    """Whether a validation follows, in which no checkpoint can be made."""
    every = trainer.check_val_every_n_epoch
    due = every is not None and (trainer.current_epoch + 1) % every == 0
    return trainer.is_last_batch and due
