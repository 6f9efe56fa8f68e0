"""The share of a training that waits for data."""

import time
from collections import deque
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.datamodules import VideoDataModule
from lit_video.training.callbacks.progress import DATA_WAIT
from lit_video.utils.processes import usable_cores
from lit_video.video.loading import TimedLoader

MUCH = 10.0  # percent


class DataWait(Callback):
    """Logs ``train/data_wait``: percent of the last 50 steps' time in which the first process waited for a batch.

    The wait is the host's time in ``next`` of the loader: no device is asked; a host ahead of its device that finds
    the next batch ready has not waited. Left out are a training's first step, in which workers start, and validations.
    Says once what to do, where a training of some length waits more than 10 %.

    Args:
        name: name of the run.
        advise_after: seconds of training before it is judged.
    """

    def __init__(self, name: str, advise_after: float = 60.0) -> None:
        self.name = name
        self.advise_after = advise_after
        self._steps: deque[tuple[float, float]] = deque(maxlen=50)  # seconds: waited, in all
        self._waited = self._time = 0.0
        self._start: tuple[float, float] | None = None  # of the step at hand: waited so far, time
        self._judged = False

    def share(self) -> float:
        """Percent of the last steps' time that was waited, 0 before there are any; asks no device."""
        return percent(*map(sum, zip(*self._steps, strict=True))) if self._steps else 0.0

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
        self._waited, self._time = self._waited + step[0], self._time + step[1]
        # a tensor of the CPU: of a number Lightning would make one on the device, which waits
        pl_module.log(DATA_WAIT, torch.tensor(self.share()), prog_bar=True, batch_size=1)
        if not self._judged and self._time >= self.advise_after:
            self._judged = True
            if trainer.is_global_zero and (share := percent(self._waited, self._time)) > MUCH:
                print(f"{self.name}: {share:.0f} % of the time so far waited for data: {advice(trainer)}", flush=True)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """A step's time begins after it."""
        if self._start:
            self._start = self._start[0], time.perf_counter()


def percent(waited: float, time: float) -> float:
    """Percentage of the time spent waiting."""
    return 100 * waited / time if time else 0.0


def advice(trainer: Trainer) -> str:
    """Advice on faster loading for this machine."""
    data = trainer.datamodule  # type: ignore[attr-defined]
    assert isinstance(data, VideoDataModule)
    cores = usable_cores()
    prepare = "videos that are faster to read (python -m lit_video data prepare)"
    if data.num_workers >= cores:
        return prepare
    return f"more workers (--data.num_workers, now {data.num_workers}; there are {cores} cores), or {prepare}"
