"""Callback that saves checkpoints, and stops a run at a checkpoint on request."""

import time
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, NoReturn

import torch
import torch.distributed as dist
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint
from torch import Tensor
from torch.utils.data import IterableDataset

from lit_video.engine.checkpoint_file import RUN_KEY, CheckpointFile
from lit_video.engine.finite import RequireFinite
from lit_video.engine.monitors import refuse_wrong_schedules
from lit_video.engine.resumption import validation_follows
from lit_video.modules.evaluation import loaders
from lit_video.runs.chosen_checkpoint import LAST
from lit_video.utils.stop_signals import AGAIN, PREEMPTED, STATUS, StopSignals, signal_in_words


class Stopped(Exception):
    """End of training at a checkpoint, on all processes; ``reason`` is ``max_time`` or a signal's name."""

    def __init__(self, reason: str, step: int, steps: int) -> None:
        stop = signal_in_words(Signals[reason]) if reason in Signals.__members__ else reason
        super().__init__(f"stopped by {stop} at step {step} of {steps}; {AGAIN}")
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
        self._shared: list[int] = []
        self._start = self._saved = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        """Return the seconds that training has waited for checkpoints."""
        return {"waited": self.file.waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore these seconds."""
        self.file.waited = state_dict["waited"]

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add the run's identity and changes, which are checked when the run resumes."""
        checkpoint[RUN_KEY] = self.record

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse schedules that monitor in the wrong mode; from now on, signals wait for the end of a step."""
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
        # no checkpoint of the step that ends training, perhaps in the middle of an epoch: a run that resumed from it
        # would leave out the last validation
        if trainer.should_stop or trainer.global_step == trainer.max_steps:
            return

        trainer.save_checkpoint(self.path)
        self._saved = time.monotonic()
        if action != SAVE:
            self._stop(trainer, action)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Agree on the batches that all processes have, because a user's own loaders may give them unequal numbers."""
        if self.stops.waits and self._group is not None:
            counts = torch.tensor(certain_batches(loaders(pl_module), trainer.num_val_batches))
            self._shared = self._reduce(counts, dist.ReduceOp.MIN).tolist()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Stop during validation if requested; the checkpoint was saved before validation.

        Processes ask each other only in batches that all have; after the others, the next training step stops.
        """
        if not self.stops.waits:
            return
        if self._group is not None and batch_idx >= self._shared[dataloader_idx]:
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
        if self.finite.message:
            return NOT_FINITE
        if self.stops.received is not None:
            return self.stops.received.name
        if self.max_time is not None and now - self._start >= self.max_time:
            return TIME_OVER
        if now - self._saved >= self.every:
            return SAVE

        # a checkpoint cannot be made within a validation or at the step that ends the training
        is_last_chance = validation_follows(trainer) or trainer.global_step + 1 == trainer.max_steps
        return SAVE if is_last_chance else _NOTHING

    def _agree(self, action: str) -> str:
        """Return the highest-priority action in any process; communicate on the CPU, without waiting for devices."""
        if self._group is None:
            return action
        code = torch.tensor(ACTIONS.index(action))
        return ACTIONS[int(self._reduce(code, dist.ReduceOp.MAX))]

    def _reduce(self, value: Tensor, operation: Any) -> Tensor:
        """Return the largest or least values of all processes, in place."""
        dist.all_reduce(value, operation, group=self._group)
        return value


def certain_batches(loaders: Sequence[Any], most: Sequence[float]) -> list[int]:
    """Return the batches that each loader surely gives; 0 if it streams, because then its length is a guess or unknown.

    ``most`` are the batches of each loader that the trainer takes at most.
    """
    streams = [
        not isinstance(loader, Sized) or isinstance(getattr(loader, "dataset", None), IterableDataset)
        for loader in loaders
    ]
    return [0 if stream else int(count) for stream, count in zip(streams, most, strict=True)]
