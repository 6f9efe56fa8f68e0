"""Metrics that callbacks and schedules monitor: which way is better, and which of them a resumed run knows."""

import re
from collections.abc import Iterable

from lightning import Trainer

from lit_video.errors import UserError
from lit_video.modules import VideoClassifier
from lit_video.modules.hooks import logged_name
from lit_video.modules.metrics import metric_values

# metrics of this package's models: pattern of the name, with Lightning's suffix if there are several loaders
LOWER = re.compile(r"(train|val|test)/loss(/dataloader_idx_\d+)?")
HIGHER = re.compile(r"(train|val|test)/(\S+_)?(top\d+|mean_average_precision)(/dataloader_idx_\d+)?")
EPOCHS_MEAN = "train/clip_top1"
OURS = ("lightning.", "lit_video.")  # packages whose callbacks and models log nothing of a user's own


def refuse_wrong_mode(watchers: Iterable[object]) -> None:
    """Refuse callbacks that would choose the worst value of one of our metrics, or that monitor an epoch's mean."""
    for watcher in watchers:
        monitor = getattr(watcher, "monitor", None)
        mode = getattr(watcher, "mode", None)
        if not isinstance(monitor, str) or mode is None:
            continue

        _refuse(f"trainer.callbacks: {type(watcher).__name__}", monitor, mode)
        if monitor == EPOCHS_MEAN:
            advice = "a run that resumes knows the mean of its own steps only; monitor val/clip_top1"
            raise UserError(f"trainer.callbacks: {type(watcher).__name__} monitors {monitor}: {advice}")


def refuse_unknown_values(watchers: Iterable[object], model: VideoClassifier) -> None:
    """Refuse callbacks that monitor a value of validation which the model's metric does not give.

    Lightning would say so after the first epoch. A user's own callback or model may log the value itself.
    """
    kinds = [*map(type, watchers), type(model)]
    if not model.num_classes or any(not kind.__module__.startswith(OURS) for kind in kinds):
        return

    values = metric_values(model.val_accuracy, model.num_classes, several_labels=model.several_labels)
    logged = {logged_name("val", value) for value in values}
    for watcher in watchers:
        monitor = getattr(watcher, "monitor", None)
        if not isinstance(monitor, str) or not monitor.startswith("val/"):
            continue
        if re.sub(r"/dataloader_idx_\d+$", "", monitor) not in logged:
            metric = type(model.val_accuracy).__name__
            raise UserError(
                f"trainer.callbacks: {type(watcher).__name__} monitors {monitor}, but the metric {metric} gives "
                f"{', '.join(sorted(logged))}"
            )


def refuse_wrong_schedules(trainer: Trainer) -> None:
    """Refuse schedules, such as ReduceLROnPlateau, that would take the worst value of our metrics for the best."""
    for config in trainer.lr_scheduler_configs:
        mode = getattr(config.scheduler, "mode", None)
        if config.reduce_on_plateau and isinstance(config.monitor, str) and mode is not None:
            _refuse(f"configure_optimizers: {type(config.scheduler).__name__}", config.monitor, mode)


def _refuse(who: str, monitor: str, mode: str) -> None:
    right = ""
    if LOWER.fullmatch(monitor):
        right = "min"
    elif HIGHER.fullmatch(monitor):
        right = "max"
    if right and mode != right:
        best = {"min": "lowest", "max": "highest"}[right]
        raise UserError(f"{who}: mode is {mode}, but the best {monitor} is the {best}: set mode to {right}")
