"""Reports at the end which videos could not be read, and keeps the list in the run's folder."""

from pathlib import Path

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.broken import BrokenVideos
from lit_video.utils.files import write_table


class ReportBroken(Callback):
    """Gathers the broken videos of all processes: a line and, in a folder, ``broken.csv`` (split, path, reason)."""

    def __init__(self, run_dir: Path | None = None) -> None:
        self.run_dir = run_dir

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather those of the epoch, of every split."""
        _broken(trainer).gather()

    on_validation_epoch_end = on_test_epoch_end = on_train_epoch_end

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report those of training and validation, or of the test."""
        broken, splits = _broken(trainer), ("test",) if trainer.testing else ("train", "val")
        if not trainer.is_global_zero:
            return
        where = ""
        if self.run_dir:
            file = self.run_dir / "broken.csv"
            if rows := broken.rows():
                write_table(file, [("split", "path", "reason"), *rows])
            else:
                file.unlink(missing_ok=True)
            where = f" (see {file})"
        counts = [f"{len(broken.reasons[split])} {split}" for split in splits if broken.reasons[split]]
        if counts:
            print(f"{' and '.join(counts)} videos could not be used and were left out{where}", flush=True)

    on_test_end = on_fit_end


def _broken(trainer: Trainer) -> BrokenVideos:
    data: VideoDataModule = trainer.datamodule  # type: ignore[attr-defined]  # set by fit and test
    return data.found_broken
