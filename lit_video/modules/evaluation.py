"""Training accuracy of a classifier, and its validation and test metrics, one for each split and loader."""

from collections.abc import Callable, Mapping
from typing import Any

from lightning import LightningModule
from torch import Tensor

from lit_video.modules.metrics import VideoAccuracy, shared_numbers
from lit_video.settings.effects import picked

_COMMON = ("loss", "top1", "top5", "videos")  # values of every metric, some of which are logged under other names


def log_hits(model: LightningModule, hits: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
    """Log the accuracy among readable clips of a training batch; return the numbers of right and of readable clips."""
    count = readable.sum()
    right = (hits & readable).sum().float()
    accuracy = right / count.clamp(min=1)  # 0 without readable clips
    # Lightning divides the sum of integer weights by the number of ranks, and rounds down
    weight: Any = count * model.trainer.world_size  # stays on the device: no synchronisation
    model.log("train/clip_top1", 100 * accuracy, batch_size=weight, on_step=False, on_epoch=True, sync_dist=True)
    return right, count.float()


def metric_of(model: LightningModule, split: str, loader: int) -> VideoAccuracy:
    """Return a loader's metric, an attribute of the model: ``val_accuracy``, ``val_accuracy_1``, ..."""
    name = f"{split}_accuracy"
    if loader:
        name += f"_{loader}"
    if not hasattr(model, name):
        first = metric_of(model, split, 0)
        model.add_module(name, type(first)(first.classes, first.average).to(model.device))
    return model.get_submodule(name)  # type: ignore[return-value]


def numbering(model: LightningModule, accuracy: VideoAccuracy, loader: int) -> Callable[[Tensor], Tensor]:
    """Return a function that numbers a batch's clips in the loader's order, for batches without video numbers."""

    def numbers(index: Tensor) -> Tensor:
        number = sum(map(len, accuracy.video)) + index
        processes = getattr(model._trainer, "world_size", 1)
        if processes == 1:
            return number
        return shared_numbers(number, loaders(model)[loader], processes)

    return numbers


def loaders(model: LightningModule) -> Any:
    """Return the loaders of this validation or test; the Trainer's public attributes may hold others."""
    return model.trainer._evaluation_loop._combined_loader.flattened  # type: ignore[union-attr]


def log_metrics(model: LightningModule, split: str, names: Mapping[str, str]) -> None:
    """Log the metrics of each loader, with Lightning's suffix if there are several.

    ``names`` gives the logged name of each value; a value that a metric does not have is skipped.
    """
    count = len(loaders(model))
    for loader in range(count):
        accuracy = metric_of(model, split, loader)
        if not accuracy.has_clips():
            continue

        result = accuracy.compute()
        suffix = f"/dataloader_idx_{loader}" if count > 1 else ""
        # values of single tasks, or of a metric of the user's own
        others = {name: f"{split}/{name}" for name in result if name not in _COMMON}
        for name, logged in picked({**names, **others}, result).items():
            in_bar = logged == "val/clip_top1"
            model.log(logged + suffix, result[name], prog_bar=in_bar, add_dataloader_idx=False)


def reset_metrics(model: LightningModule) -> None:
    """Reset the metrics of the last validation or test, which may have been interrupted."""
    for part in model.children():
        if isinstance(part, VideoAccuracy):
            part.reset()
