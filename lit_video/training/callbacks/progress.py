"""Show how far a training is, how fast, and how long it waits for data."""

import time
from collections import deque
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.runs.status import State, Status, write_status
from lit_video.utils.parallel import EVERY
from lit_video.utils.text import time_left
from lit_video.video.loading import TimedLoader

SHOWN = {"train/loss": "loss", "train/clip_top1": "% right in training", "val/clip_top1": "% right in validation"}
DATA_WAIT = "train/data_wait"
MUCH = 10.0  # percent
JUDGED_AFTER = 60.0  # seconds of training
ADVICE = "more workers (--data.num_workers), or videos that are faster to read (lit_video data prepare)"


class Progress(Callback):
    """Prints step, loss, speed, time left and the share that waits for data; keeps the state in ``run.json``."""

    line_every = EVERY
    write_every = 1.0

    def __init__(self, name: str, run_dir: Path | None = None, state: State = "training") -> None:
        self.name = name
        self.run_dir = run_dir
        self.state = state

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock, of a training that begins or resumes."""
        self._start = self._printed = self._written = time.monotonic()
        self._first_step = trainer.global_step
        self._write(trainer, Status(self.state, trainer.global_step, int(trainer.estimated_stepping_batches)))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write and print, if it is time."""
        now = time.monotonic()
        last = trainer.global_step == trainer.estimated_stepping_batches
        writes, prints = now - self._written >= self.write_every, now - self._printed >= self.line_every or last
        if not trainer.is_global_zero or not (writes or prints):
            return
        metrics = trainer.callback_metrics
        status = self._status(trainer, len(batch["clip"]), float(metrics.get(DATA_WAIT, 0.0)))
        if writes:
            self._written = now
            self._write(trainer, status)
        if prints:
            self._printed = now
            scores = ", ".join(f"{float(metrics[key]):.3g} {words}" for key, words in SHOWN.items() if key in metrics)
            speed = f"{status.clips_per_second:.0f} clips/s, {time_left(status.seconds_left)}"
            wait = f", {status.data_wait:.0f} % of the time waits for videos" if DATA_WAIT in metrics else ""
            print(f"{self.name}: step {status.step} of {status.steps}, {scores}, {speed}{wait}", flush=True)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training is over."""
        self._write(trainer, Status("testing", trainer.global_step, trainer.global_step))

    def _status(self, trainer: Trainer, clips: int, data_wait: float) -> Status:
        """Step, speed and time left; ``clips`` of a batch, of this process."""
        step, total = trainer.global_step, int(trainer.estimated_stepping_batches)
        rate = (step - self._first_step) / max(time.monotonic() - self._start, 1e-9)
        clips_per_second = rate * clips * trainer.world_size * trainer.accumulate_grad_batches
        return Status(self.state, step, total, clips_per_second, (total - step) / rate if rate else 0.0, data_wait)

    def _write(self, trainer: Trainer, status: Status) -> None:
        if self.run_dir and trainer.is_global_zero:
            write_status(self.run_dir, status)


class DataWait(Callback):
    """Logs ``train/data_wait``: percent of the last 50 steps' time in which the first process waited for a batch.

    The wait is the host's time in ``next`` of the loader: no device is asked; a host ahead of its device that finds
    the next batch ready has not waited. Left out are a training's first step, in which workers start, and validations.
    Says once what to do, where a training of some length waits more than 10 %.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._steps: deque[tuple[float, float]] = deque(maxlen=50)  # seconds: waited, in all
        self._time = 0.0
        self._start: tuple[float, float] | None = None  # the current step: waited so far, time
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
        """Begin a step's time after validation."""
        if self._start:
            self._start = self._start[0], time.perf_counter()
