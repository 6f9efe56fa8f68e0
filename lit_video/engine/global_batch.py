"""Divide the clips of an optimizer step among devices, also when a run resumes on other devices."""

import re
from typing import Any

from jsonargparse import Namespace
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.errors import UserError

SHARDED = re.compile("fsdp|ModelParallel|deepspeed", re.IGNORECASE)  # Lightning's strategies that shard a model


def accumulation(global_batch: int | None, *, devices: int, batch_size: int, accumulate: int = 1) -> int:
    """Return the batches per device and optimizer step; without ``global_batch``, return ``accumulate``."""
    if global_batch is None:
        return accumulate
    if accumulate != 1:
        other = f"trainer.accumulate_grad_batches is {accumulate}, but global_batch determines it"
        raise UserError(f"global_batch: {other}; leave that out, or set global_batch to null")

    batches, rest = divmod(global_batch, devices * batch_size)
    if rest:
        refused = f"{global_batch} does not divide into {devices} devices x data.batch_size {batch_size}"
        raise UserError(f"global_batch: {refused}; take devices and a data.batch_size whose product divides it")
    return batches


def check_scaling(trainer: Namespace, global_batch: int | None, batch_size: int) -> None:
    """Refuse sharded models, and a global batch that the devices cannot share equally, before anything is trained."""
    strategy = getattr(trainer.strategy, "class_path", trainer.strategy)
    if SHARDED.search(str(strategy)):
        raise UserError(f"trainer.strategy: {strategy} shards the model, and does not resume exactly; use ddp")

    if str(trainer.devices).isdigit():  # any other value, such as auto, is resolved when Lightning builds the trainer
        accumulation(
            global_batch,
            devices=int(trainer.devices) * trainer.num_nodes,
            batch_size=batch_size,
            accumulate=trainer.accumulate_grad_batches,
        )


class GlobalBatch(Callback):
    """Callback that converts a checkpoint's counts of batches, which are per process, to the devices now in use.

    If a checkpoint was saved within a step, the step starts over, because gradients are not saved.
    """

    def __init__(self) -> None:
        self.clips = self.batches = 0

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Store the clips per optimizer step, and the batches of each process per optimizer step."""
        self.batches = trainer.accumulate_grad_batches
        self.clips = self.batches * trainer.world_size * trainer.datamodule.batch_size  # type: ignore[attr-defined]

    def state_dict(self) -> dict[str, int]:
        """Return the clips and batches per optimizer step, to convert the checkpoint's counts later."""
        return {"clips": self.clips, "batches": self.batches}

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Convert the counts before Lightning's loops load them."""
        if trainer.state.fn != "fit":
            return
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        stored = checkpoint["callbacks"][self.state_key]
        if stored["clips"] != self.clips:
            raise UserError(
                f"global_batch: the checkpoint's steps took {stored['clips']} clips, now they take {self.clips} "
                f"({trainer.world_size} devices x {self.clips // self.batches // trainer.world_size} x {self.batches} "
                f"batches); set --global_batch {stored['clips']}, or give another --runs"
            )
        translate(progress, stored["batches"], self.batches)


def translate(progress: dict[str, Any], old: int, new: int) -> None:
    """Change Lightning's counts of batches from ``old`` to ``new`` batches per optimizer step, in place."""
    for counts in (progress["total"], progress["current"]):
        # Lightning counts a batch as completed after the callbacks of its end, which may have saved the checkpoint
        behind = counts["processed"] - counts["completed"]
        for name in ("ready", "started", "processed"):
            counts[name] = counts[name] // old * new
        counts["completed"] = counts["processed"] - behind
