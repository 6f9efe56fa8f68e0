"""Seconds of each training step by part."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback


@dataclass(frozen=True)
class StepTime:
    """Seconds of a step by part; the parts together are all of the step's time."""

    data: float  # wait for a batch, its transfer, its augmentation on the device, and callbacks
    forward_backward: float
    optimizer: float  # clipping of gradients, and the update

    @property
    def whole(self) -> float:
        """Seconds of the whole step."""
        return self.data + self.forward_backward + self.optimizer


@dataclass(frozen=True)
class Pace:
    """Seconds of the parts of a run, measured on some of its videos."""

    start: float  # from the start of the run's process to the first step
    step: float  # optimizer step on videos that were read before, or that workers read while it trains
    first_read: float  # further time for a video that is read for the first time and then kept
    view: float  # a view in validation or test
    other_view: float  # a view with the frames in another order
    stage: float  # a validation or test without its views


class StepTimes(Callback):
    """Callback that times each batch of a training by part, with the device's work in it."""

    def __init__(self) -> None:
        self.steps: list[StepTime] = []

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        self._end = self._now(pl_module)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """End the wait for data."""
        self._start = self._backward = self._now(pl_module)

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """End the backward pass."""
        self._backward = self._now(pl_module)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the step."""
        now = self._now(pl_module)
        self.steps.append(StepTime(self._start - self._end, self._backward - self._start, now - self._backward))
        self._end = now

    def _now(self, module: LightningModule) -> float:
        if module.device.type == "cuda":
            torch.cuda.synchronize(module.device)
        return time.perf_counter()
