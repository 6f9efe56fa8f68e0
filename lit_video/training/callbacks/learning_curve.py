"""Keeps the learning curve of a run, across interruptions."""

from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.modules import VideoClassifier
from lit_video.runs.results import write_curves


class Curve(Callback):
    """Writes ``curves.csv`` after every epoch; the checkpoint keeps it for a resumed run.

    A run that resumes right after an epoch's last step lacks that epoch's validation: Lightning skips it.
    The training loss is the mean over the epoch's optimizer steps, each the mean over all processes; without those
    that are not finite, if ``--nan skip:N`` lets some be. Training accuracy is that of the augmented clips.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.points: list[dict[str, float]] = []
        self._reset()

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs."""
        state = {"points": list(self.points), "steps": int(self.steps), "validation": dict(self.validation)}
        return state | {"total": float(self.total), "hits": self.hits.tolist()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.points, self.validation = list(state_dict["points"]), dict(state_dict["validation"])
        self.total, self.steps = torch.tensor(state_dict["total"]), torch.tensor(state_dict["steps"])
        self.hits = torch.tensor(state_dict["hits"], dtype=torch.float64)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """End an epoch after whose last step the run was interrupted; Lightning does not end it."""
        if batch_idx == 0 and self.steps:
            self._end_epoch(trainer.current_epoch, trainer.global_step)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add up the steps' losses where they are computed: fetching one would make the device wait in every step."""
        assert isinstance(pl_module, VideoClassifier)
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        loss = pl_module.step_loss
        self.total = self.total.to(loss.device) + loss.nan_to_num(0.0, 0.0, 0.0)
        self.steps = self.steps + loss.isfinite()
        self.hits = self.hits.to(loss.device) + pl_module.step_hits

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the numbers of a validation; Lightning keeps them in later epochs too."""
        metrics = trainer.callback_metrics.items()
        self.validation = {key: float(value) for key, value in metrics if key.startswith("val/")}

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the epoch's point; its validation, if any, is over."""
        self._end_epoch(trainer.current_epoch + 1, trainer.global_step)
        if trainer.is_global_zero:
            write_curves(self.run_dir, self.points)

    def _end_epoch(self, epoch: int, step: int) -> None:
        loss = float(self.total) / max(int(self.steps), 1)
        point = {"epoch": epoch, "step": step, "train/loss": loss} | self.validation
        right, read = self.hits.tolist()
        if read:
            point["train/clip_top1"] = 100 * right / read
        self.points.append(point)
        self._reset()

    def _reset(self) -> None:
        self.total, self.steps = torch.tensor(0.0), torch.tensor(0)
        self.validation = dict[str, float]()
        self.hits = torch.zeros(2, dtype=torch.float64)  # clips that were right, clips
