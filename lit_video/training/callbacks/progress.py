"""Progress of a training: a bar on a terminal, a line every few seconds elsewhere, and the state for others."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, RichProgressBar

from lit_video.tables.status import Status, write_status

LOSS = "train/loss"
SHOWN = (LOSS, "train/clip_top1", "val/clip_top1")
DATA_WAIT = "train/data_wait"
Numbers = dict[str, int | str | float | dict[str, float]]


class Pace:
    """Speed of a training since it started or was resumed."""

    def __init__(self, trainer: Trainer) -> None:
        self._start = time.monotonic()
        self._first_step = trainer.global_step

    def status(self, trainer: Trainer, clips: int) -> Status:
        """Step, speed and time left; ``clips`` of a batch, of this process."""
        step, total = trainer.global_step, int(trainer.estimated_stepping_batches)
        rate = (step - self._first_step) / max(time.monotonic() - self._start, 1e-9)
        clips_per_second = rate * clips * trainer.world_size * trainer.accumulate_grad_batches
        return Status("training", step, total, clips_per_second, (total - step) / rate if rate else 0.0)


class ProgressLines(Callback):
    """Prints step, loss, speed, time left and the share that waits for data every few seconds.

    Args:
        name: name of the run.
    """

    every = 10.0  # seconds between lines

    def __init__(self, name: str) -> None:
        self.name = name

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        self._pace = Pace(trainer)
        self._last = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Print a line, if it is time for one."""
        now = time.monotonic()
        last = trainer.global_step == trainer.estimated_stepping_batches
        if trainer.is_global_zero and (now - self._last >= self.every or last):
            self._last = now
            at = self._pace.status(trainer, len(batch["clip"]))
            scores = " ".join(
                f"{k} {float(trainer.callback_metrics[k]):.4g}" for k in SHOWN if k in trainer.callback_metrics
            )
            speed = f"{at.clips_per_second:.0f} clips/s, {at.seconds_left:.0f} s left"
            if (wait := trainer.callback_metrics.get(DATA_WAIT)) is not None:
                speed += f", data wait {float(wait):.0f} %"
            print(f"{self.name}: step {at.step}/{at.steps}, {scores}, {speed}", flush=True)


class ReportStatus(Callback):
    """Writes the state in ``run.json``: every new state, and the progress of training every second.

    Args:
        run_dir: folder of the run.
        data_wait: says what percent of the time waits for data.
        every: seconds between two files in training.
    """

    def __init__(self, run_dir: Path, data_wait: Callable[[], float] = lambda: 0.0, every: float = 1.0) -> None:
        self.run_dir = run_dir
        self.data_wait = data_wait
        self.every = every

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        self._pace = Pace(trainer)
        self._last = time.monotonic()
        steps = int(trainer.estimated_stepping_batches)
        self._write(trainer, Status("training", trainer.global_step, steps))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write the progress, if it is time."""
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last = now
            status = self._pace.status(trainer, len(batch["clip"]))
            self._write(trainer, replace(status, data_wait=self.data_wait()))

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training is over."""
        self._write(trainer, Status("testing", trainer.global_step, trainer.global_step))

    def _write(self, trainer: Trainer, status: Status) -> None:
        if trainer.is_global_zero:
            write_status(self.run_dir, status)


class ProgressBar(RichProgressBar):
    """Lightning's bar of an epoch, with the speed and the time left of the whole run.

    Its numbers are read every half second: the device is waited for.
    """

    every = 0.5
    _pace: Pace | None = None
    _clips = 0
    _numbers: Numbers
    _last = -math.inf  # when they were read
    _shown: Numbers | None = None  # these, as long as they do

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        super().on_train_start(trainer, pl_module)
        self._pace = Pace(trainer)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count the clips; read the numbers, if it is time."""
        self._clips = len(batch["clip"])
        now = time.monotonic()
        if now - self._last >= self.every:
            self._last, self._numbers = now, self.get_metrics(trainer, pl_module)
        self._shown = self._numbers
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        self._shown = None

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> Numbers:
        """Metrics beside the progress bar."""
        if self._shown is not None:
            return self._shown
        metrics = super().get_metrics(trainer, pl_module)
        if (loss := trainer.callback_metrics.get(LOSS)) is not None:
            metrics |= {LOSS: float(loss)}
        if self._pace is None or not trainer.training:
            return metrics
        at = self._pace.status(trainer, self._clips)
        left = f"{at.seconds_left // 60:.0f}:{at.seconds_left % 60:02.0f}"
        return metrics | {"clips/s": f"{at.clips_per_second:.0f}", "left": left}


def progress_callback(name: str) -> Callback:
    """The bar on a terminal, else the lines."""
    return ProgressBar() if sys.stdout.isatty() else ProgressLines(name)
