"""Lets a run go on with another number of devices."""

from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.errors import UserError


class GlobalBatch(Callback):
    """Translates a checkpoint's counts of batches, which are each process's, to the devices in use.

    Optimizer steps are counted as they are. What the data set has shown of its epoch it keeps itself, as clips.
    A step that a checkpoint lies inside of, whose gradients it does not have, starts over.
    """

    def __init__(self) -> None:
        self.clips = self.batches = 0

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Take clips per optimizer step, and batches of each process per step."""
        self.batches = trainer.accumulate_grad_batches
        self.clips = self.batches * trainer.world_size * trainer.datamodule.batch_size  # type: ignore[attr-defined]

    def state_dict(self) -> dict[str, int]:
        """What the counts of a checkpoint refer to."""
        return {"clips": self.clips, "batches": self.batches}

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Translate the counts before Lightning's loops take them.

        Raises:
            UserError: steps took another number of clips: training would be another.
        """
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
    """Change Lightning's counts of batches from ``old`` to ``new`` batches per optimizer step, in place.

    A batch at whose end a callback saves is ``processed``, and not yet ``completed``.
    """
    for counts in (progress["total"], progress["current"]):
        behind = counts["processed"] - counts["completed"]
        for name in ("ready", "started", "processed"):
            counts[name] = counts[name] // old * new
        counts["completed"] = counts["processed"] - behind
