"""Progress of a training: a line every few seconds, and the state for others."""

import time
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.tables.status import Status, write_status

SHOWN = ("train/loss", "train/clip_top1", "val/clip_top1")
DATA_WAIT = "train/data_wait"


class Progress(Callback):
    """Prints step, loss, speed, time left and the share that waits for data; keeps the state in ``run.json``.

    Args:
        name: name of the run.
        run_dir: folder whose ``run.json`` gets every new state; ``None`` for none.
    """

    line_every = 10.0  # seconds
    write_every = 1.0

    def __init__(self, name: str, run_dir: Path | None = None) -> None:
        self.name = name
        self.run_dir = run_dir

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock, of a training that begins or resumes."""
        self._start = self._printed = self._written = time.monotonic()
        self._first_step = trainer.global_step
        self._write(trainer, Status("training", trainer.global_step, int(trainer.estimated_stepping_batches)))

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
            scores = " ".join(f"{key} {float(metrics[key]):.4g}" for key in SHOWN if key in metrics)
            speed = f"{status.clips_per_second:.0f} clips/s, {status.seconds_left:.0f} s left"
            wait = f", data wait {status.data_wait:.0f} %" if DATA_WAIT in metrics else ""
            print(f"{self.name}: step {status.step}/{status.steps}, {scores}, {speed}{wait}", flush=True)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training is over."""
        self._write(trainer, Status("testing", trainer.global_step, trainer.global_step))

    def _status(self, trainer: Trainer, clips: int, data_wait: float) -> Status:
        """Step, speed and time left; ``clips`` of a batch, of this process."""
        step, total = trainer.global_step, int(trainer.estimated_stepping_batches)
        rate = (step - self._first_step) / max(time.monotonic() - self._start, 1e-9)
        clips_per_second = rate * clips * trainer.world_size * trainer.accumulate_grad_batches
        return Status("training", step, total, clips_per_second, (total - step) / rate if rate else 0.0, data_wait)

    def _write(self, trainer: Trainer, status: Status) -> None:
        if self.run_dir and trainer.is_global_zero:
            write_status(self.run_dir, status)
