"""Progress of a training: a bar on a terminal, a line every few seconds elsewhere."""

import sys
import time
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, RichProgressBar


class ProgressLines(Callback):
    """Prints step, loss, speed and time left every few seconds.

    Args:
        name: of the run.
        every: seconds between lines.
    """

    def __init__(self, name: str, every: float = 10.0) -> None:
        self.name = name
        self.every = every
        self._start = self._last = 0.0
        self._first_step = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock."""
        self._start = self._last = time.monotonic()
        self._first_step = trainer.global_step

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Print a line, if it is time for one."""
        now, step, total = time.monotonic(), trainer.global_step, trainer.estimated_stepping_batches
        if step == self._first_step:  # still accumulating
            return
        if trainer.is_global_zero and (now - self._last >= self.every or step == total):
            self._last = now
            rate = (step - self._first_step) / (now - self._start)
            left = (total - step) / rate
            clips = rate * len(batch["clip"]) * trainer.world_size * trainer.accumulate_grad_batches
            scores = " ".join(
                f"{k} {float(trainer.callback_metrics[k]):.4g}" for k in SHOWN if k in trainer.callback_metrics
            )
            print(f"{self.name}: step {step}/{total}, {scores}, {clips:.0f} clips/s, {left:.0f} s left", flush=True)


SHOWN = ("train/loss", "train/clip_top1", "val/clip_top1")


def progress_callback(name: str) -> Callback:
    """The bar on a terminal, else the lines."""
    return RichProgressBar() if sys.stdout.isatty() else ProgressLines(name)
