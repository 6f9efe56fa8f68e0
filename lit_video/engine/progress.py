"""Report the progress and speed of training, the time spent waiting for data, and unreadable videos."""

import logging
import time
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.broken import BrokenVideos
from lit_video.datamodules.split_test import SplitTest
from lit_video.runs.folder import write_status
from lit_video.runs.record import State, Status
from lit_video.utils.files import write_table
from lit_video.utils.parallel import EVERY
from lit_video.utils.text import printable, time_left

_logger = logging.getLogger(__name__)

LINE_METRICS = {
    "train/loss": "loss",
    "train/clip_top1": "% right in training",
    "val/clip_top1": "% right in validation",
}


class Progress(Callback):
    """Progress lines (step, loss, speed, time left, data wait), and the state in ``run.json``.

    ``train/data_wait`` is the percentage of time, since the last line, in which rank 0 waited for the loader. It
    excludes validations and the first step of training, in which workers start.
    """

    line_every = EVERY
    write_every = 1.0

    def __init__(self, name: str, run_dir: Path | None = None, state: State = "training") -> None:
        self.name = name
        self.run_dir = run_dir
        self.state = state
        self._since: tuple[float, float] | None = None  # seconds waited and clock at the interval's start

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock when training begins or resumes."""
        self._start = self._printed = self._written = time.monotonic()
        self._first_step = trainer.global_step
        self._since = None
        self._write(trainer, Status(self.state, trainer.global_step, int(trainer.estimated_stepping_batches)))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the data wait; if due, write the status and print a line."""
        now = time.monotonic()
        waited = float(getattr(trainer.train_dataloader, "waited", 0.0))
        if self._since is None:
            self._since = (waited, now)
        waited_before, begin = self._since
        share = 100 * (waited - waited_before) / max(now - begin, 1e-9)
        # a CPU tensor, because Lightning would copy a number to the device and wait
        pl_module.log("train/data_wait", torch.tensor(share), prog_bar=True, batch_size=1)

        is_last = trainer.global_step == trainer.estimated_stepping_batches
        writes = now - self._written >= self.write_every
        prints = is_last or now - self._printed >= self.line_every
        if not trainer.is_global_zero or not (writes or prints):
            return

        step = trainer.global_step
        steps = int(trainer.estimated_stepping_batches)
        rate = (step - self._first_step) / max(time.monotonic() - self._start, 1e-9)
        clips = len(batch["clip"])  # number of this process alone
        status = Status(
            self.state,
            step,
            steps,
            clips_per_second=rate * clips * trainer.world_size * trainer.accumulate_grad_batches,
            seconds_left=(steps - step) / rate if rate else 0.0,
            data_wait=share,
        )
        if writes:
            self._written = now
            self._write(trainer, status)
        if prints:
            self._printed = now
            self._since = (waited, now)
            _logger.info(self._line(trainer, status))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restart the interval of the data wait."""
        self._since = None

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the state ``testing``."""
        self._write(trainer, Status("testing", trainer.global_step, trainer.global_step))

    def _line(self, trainer: Trainer, status: Status) -> str:
        """Return a line on the step, the metrics, the speed and the data wait."""
        scores = []
        for key, words in LINE_METRICS.items():
            if key in trainer.callback_metrics:
                scores.append(f"{float(trainer.callback_metrics[key]):z.3g} {words}")

        speed = f"{status.clips_per_second:.0f} clips/s, {time_left(status.seconds_left)}"
        wait = f"{status.data_wait:.0f} % of the time waits for videos"
        return f"{self.name}: step {status.step} of {status.steps}, {', '.join(scores)}, {speed}, {wait}"

    def _write(self, trainer: Trainer, status: Status) -> None:
        if self.run_dir and trainer.is_global_zero:
            write_status(self.run_dir, status)


class ReportBroken(Callback):
    """Report of the broken videos of all ranks and of those with gaps in time: a line each.

    ``broken.csv`` (split, path, reason) in ``run_dir`` lists the broken ones.
    """

    def __init__(self, run_dir: Path | None = None) -> None:
        self.run_dir = run_dir

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather the epoch's broken videos of every split."""
        _broken(trainer).gather()

    on_validation_epoch_end = on_test_epoch_end = on_train_epoch_end

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report broken videos, and those with gaps, of training and validation, or of the test."""
        is_further_test = isinstance(trainer.datamodule, SplitTest)  # type: ignore[attr-defined]
        if not trainer.is_global_zero or is_further_test:
            return

        broken = _broken(trainer)
        where = ""
        if self.run_dir:
            file = self.run_dir / "broken.csv"
            rows = broken.rows()
            if rows:
                write_table(file, [("split", "path", "reason"), *rows])
            else:
                file.unlink(missing_ok=True)
            where = f" (see {file})"

        splits = ("test",) if trainer.testing else ("train", "val")
        counts = [f"{len(broken.reasons[split])} {split}" for split in splits if broken.reasons[split]]
        if counts:
            _logger.info(f"{' and '.join(counts)} videos could not be used and were left out{where}")
        gaps = broken.gap_line(splits)
        if gaps:
            _logger.info(printable(gaps))

    on_test_end = on_fit_end


def _broken(trainer: Trainer) -> BrokenVideos:
    data: VideoDataModule | SplitTest = trainer.datamodule  # type: ignore[attr-defined]  # set by fit and test
    return data.data.found_broken if isinstance(data, SplitTest) else data.found_broken
