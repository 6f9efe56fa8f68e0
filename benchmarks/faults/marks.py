"""Callbacks of runs under faults."""

import os
import time
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback


class MarkValidation(Callback):
    """Touch the file ``$FAULTS_VALIDATION``, if set, in a validation, and slow it down."""

    def on_validation_batch_start(self, *_: Any) -> None:
        """Mark every batch."""
        if mark := os.environ.get("FAULTS_VALIDATION"):
            Path(mark).touch()
            time.sleep(0.3)


class Poison(Callback):
    """Make the gradients of two steps NaN."""

    def on_after_backward(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Set all gradients to NaN in steps 3 and 7."""
        for parameter in pl_module.parameters() if trainer.global_step in (3, 7) else ():
            if parameter.grad is not None:
                parameter.grad.fill_(float("nan"))
