"""Makes a training that was interrupted equal to one that was not."""

from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch.optim.lr_scheduler import LambdaLR

from lit_video.video.seeding import digest


class ExactResumption(Callback):
    """Makes dropout a function of (seed, step, batch), and the learning rate one of the step.

    A resumed run then draws what an uninterrupted one draws, on any devices.
    """

    def __init__(self) -> None:
        self._seed = 0

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember the run's seed before training draws from its stream."""
        self._seed = torch.initial_seed()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take the rate from the schedule: where training has become longer, the checkpoint's is another."""
        for schedule in (config.scheduler for config in trainer.lr_scheduler_configs):
            if isinstance(schedule, LambdaLR):
                groups = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
                for group, base, share in groups:
                    group["lr"] = base * share(schedule.last_epoch)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Seed a batch's draws; the batches of a step are counted over accumulation and ranks."""
        accumulated = batch_idx % trainer.accumulate_grad_batches
        batch_of_step = accumulated * trainer.world_size + trainer.global_rank
        torch.manual_seed(digest(self._seed, trainer.global_step, batch_of_step))
