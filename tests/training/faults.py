"""Callbacks that disturb a run at a step, for ``--trainer.callbacks``."""

import multiprocessing
import os
import signal

from lightning import Callback


class SignalAtStep(Callback):
    """Callback that sends its process, or that of one rank, a signal after a step of training or in a validation."""

    def __init__(self, name: str, step: int = 3, phase: str = "train", rank: int | None = None) -> None:
        self.number = signal.Signals[name]
        self.step = step
        self.phase = phase
        self.rank = rank

    def _hurt(self, trainer, phase):
        hurt = self.rank in (None, trainer.global_rank)
        if hurt and phase == self.phase and trainer.global_step >= self.step:
            os.kill(os.getpid(), self.number)

    def on_train_batch_end(self, trainer, *args):
        self._hurt(trainer, "train")

    def on_validation_batch_end(self, trainer, *args):
        self._hurt(trainer, "validation")


class KillWorker(Callback):
    """Callback that kills the loader's workers after a step."""

    def on_train_batch_end(self, trainer, *args):
        for process in multiprocessing.active_children():
            os.kill(process.pid, signal.SIGKILL)
