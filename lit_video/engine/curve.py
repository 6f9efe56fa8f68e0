"""Learning curve of a run."""

from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.datamodules import VideoDataModule
from lit_video.engine.finite import metrics_of
from lit_video.engine.predictions import directions, evaluated_predictions
from lit_video.modules import VideoClassifier
from lit_video.runs.folder import write_curves


class Curve(Callback):
    """Learning curve, written to ``curves.csv`` after every epoch and kept in checkpoints.

    A validation has a point at its step; where classes differ in direction alone, also the directions right by skill.
    The training loss is the mean over processes and over the epoch's optimizer steps, without steps skipped for a
    non-finite loss (``--nan skip:N``). Training accuracy is measured on the augmented clips.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.points: list[dict[str, float]] = []
        self._reset()

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Begin the curve of a fit, before Lightning loads its checkpoint."""
        if stage == "fit":
            self.points = []
            self._reset()

    def state_dict(self) -> dict[str, Any]:
        """Return the points, and the sums of an unfinished epoch."""
        return {
            "points": list(self.points),
            "steps": int(self.steps),
            "total": float(self.total),
            "hits": self.hits.tolist(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the points and the sums."""
        self.points = list(state_dict["points"])
        self.total = torch.tensor(state_dict["total"])
        self.steps = torch.tensor(state_dict["steps"])
        self.hits = torch.tensor(state_dict["hits"], dtype=torch.float64)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Sum the losses on the device, because a copy to the CPU would make every step wait."""
        assert isinstance(pl_module, VideoClassifier)
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        loss = pl_module.step_loss
        self.total = self.total.to(loss.device) + loss.nan_to_num(0.0, 0.0, 0.0)
        self.steps = self.steps + loss.isfinite()
        self.hits = self.hits.to(loss.device) + pl_module.step_hits

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a point with the metrics of this validation."""
        if trainer.sanity_checking:
            return
        measured = metrics_of(trainer, "val/")
        data = trainer.datamodule  # type: ignore[attr-defined]
        if isinstance(data, VideoDataModule) and data.opposites:
            assert isinstance(pl_module, VideoClassifier)
            predictions = evaluated_predictions(pl_module.val_accuracy, data)
            measured |= directions(predictions, data, "val")
        self._add(trainer, measured)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add a point with the training of this epoch; write the curve."""
        measured = {"train/loss": float(self.total) / max(int(self.steps), 1)}
        right, readable = self.hits.tolist()
        if readable:
            measured["train/clip_top1"] = 100 * right / readable

        self._add(trainer, measured)
        self._reset()
        if trainer.is_global_zero:
            write_curves(self.run_dir, self.points)

    def _add(self, trainer: Trainer, measured: dict[str, float]) -> None:
        """Add a point, or add to that of this step: a validation may stand at the end of an epoch."""
        point: dict[str, float] = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step}
        if self.points and self.points[-1]["step"] == point["step"]:
            point = self.points.pop()
        self.points.append(point | measured)

    def _reset(self) -> None:
        """Begin the sums of an epoch."""
        self.total = torch.tensor(0.0)
        self.steps = torch.tensor(0)
        self.hits = torch.zeros(2, dtype=torch.float64)  # numbers of right and of readable clips
