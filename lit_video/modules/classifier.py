"""Everything that training a video classifier takes, once; families only build their network."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from lightning import LightningModule
from torch import Tensor, nn

from lit_video.datamodules.batch import Batch
from lit_video.datamodules.sampling import digest
from lit_video.modules.metrics import VideoAccuracy
from lit_video.modules.optimization import Optimization, make_optimizer, rate


class VideoClassifier(LightningModule):
    """Base of all model families: loss, steps, optimizer, clip and video accuracy.

    Logs ``train/loss``, ``train/clip_top1``; ``val/loss``, ``val/clip_top1`` and ``val/clip_top5`` (the centre view);
    ``test/video_top1``, ``test/video_top5`` (all views of a video averaged, every video once) and ``test/videos``.
    Accuracies are in percent.

    Args:
        network: clips ``(b, 3, t, height, width)`` to logits ``(b, classes)``.
        optimization: optimizer and learning rate; ``None`` for the defaults.
    """

    def __init__(self, network: nn.Module, optimization: Optimization | None = None) -> None:
        super().__init__()
        self.save_hyperparameters(ignore=["network"])
        self.network = network
        self.optimization = optimization or Optimization()
        self.val_accuracy = VideoAccuracy()
        self.test_accuracy = VideoAccuracy()
        self._seed = 0

    def forward(self, clip: Tensor) -> Tensor:
        """Logits of normalised clips."""
        return self.network(clip)

    def on_fit_start(self) -> None:
        """Remember the run's seed before training draws from its stream."""
        self._seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Make dropout a function of (seed, step, rank): a resumed run draws what an uninterrupted one draws."""
        torch.manual_seed(digest(self._seed, self.global_step, self.global_rank))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Cross entropy with soft targets."""
        logits, target = self(batch["clip"]), batch["target"]
        loss = F.cross_entropy(logits, target)
        size = len(logits)
        hits = (logits.argmax(1) == target.argmax(1)).float().mean()
        self.log("train/loss", loss, prog_bar=True, batch_size=size)
        self.log("train/clip_top1", 100 * hits, batch_size=size, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Collect the centre views."""
        logits = self(batch["clip"])
        self.val_accuracy.update(logits, batch["target"], batch["video"], batch["view"])
        loss = F.cross_entropy(logits, batch["target"])
        self.log("val/loss", loss, batch_size=len(logits), sync_dist=True)

    def on_validation_epoch_end(self) -> None:
        """One view per video: clip accuracy."""
        result = self.val_accuracy.compute()
        self.val_accuracy.reset()
        self.log("val/clip_top1", result["top1"], prog_bar=True)
        self.log("val/clip_top5", result["top5"])

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Collect all views."""
        self.test_accuracy.update(self(batch["clip"]), batch["target"], batch["video"], batch["view"])

    def on_test_epoch_end(self) -> None:
        """All views per video: video accuracy. The metric keeps its state for callbacks until the next test."""
        result = self.test_accuracy.compute()
        self.log_dict({f"test/video_{k}": v for k, v in result.items() if k != "videos"})
        self.log("test/videos", result["videos"])

    def on_test_epoch_start(self) -> None:
        """Forget the last test."""
        self.test_accuracy.reset()

    def configure_optimizers(self) -> Any:
        """Optimizer, and a rate that follows the step."""
        optimizer = make_optimizer(self.optimization, self.network)
        steps = self.trainer.estimated_stepping_batches
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate(self.optimization, step / steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
