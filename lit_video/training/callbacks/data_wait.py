"""Share of training time spent waiting for data."""

import time
from collections import deque
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.training.callbacks.progress import DATA_WAIT
from lit_video.video.loading import TimedLoader

MUCH = 10.0  # percent
JUDGED_AFTER = 60.0  # seconds of training
ADVICE = "more workers (--data.num_workers), or videos that are faster to read (python -m lit_video data prepare)"


class DataWait(Callback):
    """Logs ``train/data_wait``: percent of the last 50 steps' time in which the first process waited for a batch.

    The wait is the host's time in ``next`` of the loader: no device is asked; a host ahead of its device that finds
    the next batch ready has not waited. Left out are a training's first step, in which workers start, and validations.
    Says once what to do, where a training of some length waits more than 10 %.

    Args:
        name: name of the run.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: deque[tuple[float, float]] = deque(maxlen=50)  # seconds: waited, in all
        self._time = 0.0
        self._start: tuple[float, float] | None = None  # of the step at hand: waited so far, time
        self._judged = False

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the share; advise, if it is time."""
        loader = trainer.train_dataloader
        assert isinstance(loader, TimedLoader)
        start, self._start = self._start, (loader.waited, time.perf_counter())
        if start is None:
            return
        step = self._start[0] - start[0], self._start[1] - start[1]
        self._steps.append(step)
        self._time += step[1]
        waited, total = map(sum, zip(*self._steps, strict=True))
        share = 100 * waited / total if total else 0.0
        # a tensor of the CPU: of a number Lightning would make one on the device, which waits
        pl_module.log(DATA_WAIT, torch.tensor(share), prog_bar=True, batch_size=1)
        if not self._judged and self._time >= JUDGED_AFTER:
            self._judged = True
            kept = getattr(getattr(trainer, "datamodule", None), "keep_gb", 0)  # no worker reads these sooner
            if trainer.is_global_zero and share > MUCH and not kept:
                print(f"{self.name}: {share:.0f} % of the time waits for data: {ADVICE}", flush=True)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A step's time begins after it."""
        if self._start:
            self._start = self._start[0], time.perf_counter()
