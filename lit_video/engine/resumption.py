"""Callback by which a run that was stopped anywhere and resumed ends exactly like an uninterrupted one."""

from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch.optim.lr_scheduler import LambdaLR

from lit_video.video.seeding import digest

POINT = "lit_video_point"  # key, in a checkpoint, of the point of training at which it was saved


class ExactResumption(Callback):
    """Random draws, learning rate and ends of epochs that do not depend on whether a run was resumed.

    Draws depend on seed, step and batch only, on any number of devices; the learning rate depends on the step only. If
    a checkpoint was saved after a step that is followed by a validation or the end of its epoch, the resumed run begins
    with these, which Lightning would skip.
    """

    def __init__(self) -> None:
        self._seed = 0
        self._epoch_ends = False  # whether a resumed epoch has no step left
        self._metrics: dict[str, float] = {}  # logged before the checkpoint

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Forget the checkpoint of an earlier fit, before Lightning loads that of this one."""
        self._epoch_ends = False
        self._metrics = {}

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Add to the checkpoint whether a validation follows its step, and state that Lightning leaves out."""
        epoch: Any = trainer.fit_loop.epoch_progress.current  # its declared type lacks ``processed``
        deferred = [saver.state_key for saver in _savers(trainer) if saver._defer_save_until_validation]
        is_end_of_epoch = epoch.processed == epoch.ready
        batches: Any = trainer.fit_loop.epoch_loop.batch_progress.total
        is_end_of_batch = batches.processed > batches.completed  # Lightning calls the hooks of the batch's end
        checkpoint[POINT] = {
            "metrics": {key: float(value) for key, value in trainer.callback_metrics.items()},
            "validation": is_end_of_batch and validation_follows(trainer),
            "deferred": deferred,
            "stopped": trainer.should_stop and is_end_of_epoch,  # for instance by EarlyStopping
        }

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Go on with what follows the checkpoint's step, before Lightning's loops load their progress."""
        point = checkpoint.get(POINT)
        if trainer.state.fn != "fit" or point is None:
            return

        self._metrics = point["metrics"]
        trainer.should_stop = trainer.should_stop or point["stopped"]
        for saver in _savers(trainer):
            saver._defer_save_until_validation = saver.state_key in point["deferred"]

        progress = checkpoint["loops"]["fit_loop"]
        batches = progress["epoch_loop.batch_progress"]
        if batches["total"]["completed"] == batches["total"]["processed"]:
            return  # not saved at the end of a step
        # the batch counts as complete, so that what follows it comes next: a validation, or the end of the epoch
        if batches["is_last_batch"] or point["validation"]:
            for counts in (batches["total"], batches["current"]):
                counts["completed"] = counts["processed"]
        if point["validation"]:
            # the counts are those of a validation that was stopped in its first batch
            validation = progress["epoch_loop.val_loop.batch_progress"]
            validation["total"] = {"ready": 1, "started": 1, "processed": 0, "completed": 0}
            validation["current"] = dict.fromkeys(validation["total"], 0)
            validation["is_last_batch"] = False
        elif batches["is_last_batch"]:  # Lightning counts a step after the hook that saves
            progress["epoch_loop.state_dict"]["_batches_that_stepped"] += 1
        self._epoch_ends = batches["is_last_batch"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember the run's seed before the seeds of batches replace it."""
        self._seed = torch.initial_seed()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restore metrics that callbacks monitor, and set the learning rate from the schedule.

        The checkpoint's rate is wrong if training has become longer.
        """
        for key, value in self._metrics.items():
            trainer._logger_connector._callback_metrics[key] = torch.tensor(value, device=pl_module.device)
        if self._epoch_ends:
            trainer.fit_loop._data_fetcher.done = True  # type: ignore[union-attr]

        for config in trainer.lr_scheduler_configs:
            schedule = config.scheduler
            if not isinstance(schedule, LambdaLR):
                continue
            groups = zip(schedule.optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True)
            for group, base, share in groups:
                group["lr"] = base * share(schedule.last_epoch)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Seed a batch's draws by the run's seed, the step, and the batch's number among all batches of the step."""
        accumulated = batch_idx % trainer.accumulate_grad_batches
        batch_of_step = accumulated * trainer.world_size + trainer.global_rank
        torch.manual_seed(digest(self._seed, trainer.global_step, batch_of_step))

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell Lightning that its loop is no longer restarting, so that it updates schedules that monitor a metric."""
        if self._epoch_ends:
            trainer.fit_loop._restarting = False
        self._epoch_ends = False


def validation_follows(trainer: Trainer) -> bool:
    """Return whether Lightning will validate after the current batch."""
    loop = trainer.fit_loop
    fetcher = loop._data_fetcher
    return fetcher is not None and loop.epoch_loop._should_check_val_fx(fetcher)


def _savers(trainer: Trainer) -> list[ModelCheckpoint]:
    """Return Lightning's callbacks that save checkpoints."""
    return [saver for saver in trainer.checkpoint_callbacks if isinstance(saver, ModelCheckpoint)]
