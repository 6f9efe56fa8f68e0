"""Work around the stages of a Trainer, in a callback, so that it is done even if a subclass overrides a hook."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Literal, Protocol, cast

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from lit_video.modules.evaluation import log_metrics, reset_metrics
from lit_video.modules.metrics import mean_over_ranks

VAL_NAMES = {"loss": "val/loss", "top1": "val/clip_top1", "top5": "val/clip_top5"}
TEST_NAMES = {"top1": "test/video_top1", "top5": "test/video_top5", "videos": "test/videos"}


def logged_name(split: Literal["val", "test"], value: str) -> str:
    """Return the name under which a metric's value is logged."""
    names = VAL_NAMES if split == "val" else TEST_NAMES
    return names.get(value, f"{split}/{value}")


class Startable(Protocol):
    """Module that reads starting weights before its training, as every :class:`VideoClassifier` does."""

    def prepare_start(self, stage: str) -> None:
        """Read the starting weights for ``fit`` or another stage."""

    def confirm_start(self) -> None:
        """Raise the error of reading them, unless a restored checkpoint has replaced them."""


class ClassifierHooks(Callback):
    """Starting weights, the loss of a step and the metrics of every classifier that a Trainer runs.

    A user may override a hook of the module without ``super()``; the hooks of this callback are called all the same. It
    is the first of all callbacks, because others copy or measure the model in their ``setup``, before Lightning calls
    the module's. It keeps no state.
    """

    @classmethod
    def put_first(cls, trainer: Trainer) -> None:
        """Make the callback the first of a trainer, once."""
        others = [callback for callback in trainer.callbacks if type(callback) is not cls]  # type: ignore[attr-defined]
        trainer.callbacks = [cls(), *others]  # type: ignore[attr-defined]

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Read the starting weights of the model, or of the classifiers in it, before any callback sees them."""
        for model in classifiers(pl_module):
            model.prepare_start(stage)

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to train without the starting weights; by now, Lightning has restored a checkpoint if there is one."""
        if not trainer.strategy.restore_checkpoint_after_setup:
            self._confirm(pl_module)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to train without the starting weights, with strategies that restore a checkpoint late."""
        self._confirm(pl_module)
        getattr(pl_module, "_batches", []).clear()  # a step may have been cut short

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to validate without the weights."""
        self._confirm(pl_module)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to test without the weights."""
        self._confirm(pl_module)

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Refuse to predict without the weights."""
        self._confirm(pl_module)

    @staticmethod
    def _confirm(module: LightningModule) -> None:
        for model in classifiers(module):
            model.confirm_start()

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        """Log the step's loss: the mean over its batches and all processes."""
        batches: list[torch.Tensor] = getattr(pl_module, "_batches", [])
        if not batches:  # a user's own training_step keeps none
            return

        step = mean_over_ranks(torch.stack(batches).mean(0))
        batches.clear()
        model: Any = pl_module
        model.step_loss = step[0]
        model.step_hits = step[1:]
        model.log("train/loss", model.step_loss, batch_size=1)  # prog_bar would synchronise the GPU in every step

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reset the metrics of the last validation or test."""
        reset_metrics(pl_module)

    def on_test_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reset the metrics of the last validation or test."""
        reset_metrics(pl_module)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log clip accuracy of one view per video, and the loss over videos that could be read."""
        if is_startable(pl_module):
            log_metrics(pl_module, "val", VAL_NAMES)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log video accuracy over all views. The metric keeps its state for callbacks until the next test."""
        if is_startable(pl_module):
            log_metrics(pl_module, "test", TEST_NAMES)


def is_startable(module: torch.nn.Module) -> bool:
    """Return whether a module is :class:`Startable`; in Python 3.11, ``isinstance`` of a protocol takes long."""
    return hasattr(type(module), "prepare_start")


def classifiers(module: LightningModule) -> Iterator[Startable]:
    """Iterate over the classifiers in a module, itself included; a user's module may hold several (distillation)."""
    return (cast(Startable, part) for part in module.modules() if is_startable(part))


def after_package(package: Callable[..., None], hook: Callable[..., Any]) -> Callable[..., Any]:
    """Return a hook that does the package's work, then that of a subclass's hook, which may or may not call super()."""

    @wraps(hook)
    def both(self: Any, *args: Any, **kwargs: Any) -> Any:
        package(self, *args, **kwargs)
        return hook(self, *args, **kwargs)

    return both
