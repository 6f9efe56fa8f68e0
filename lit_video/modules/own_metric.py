"""Check of a metric of the user's own before training, on random logits."""

import torch
from torch import Tensor

from lit_video.errors import fault_of
from lit_video.modules.metrics import VideoAccuracy
from lit_video.utils.class_paths import class_path
from lit_video.utils.classes import Classes, by_task, outputs

_NEEDED = ("loss", "top1", "videos")  # values that checkpoints, results and tables read
_VIDEOS = 4
_VIEWS = 2


def metric_values(metric: VideoAccuracy, classes: Classes, *, several_labels: bool) -> list[str]:
    """Return the names of a metric's values, from random logits of a few videos; the metric is reset.

    Raises:
        ValueError: the metric fails, lacks one of ``_NEEDED``, or gives something else than single numbers.
    """
    name = f"metric {class_path(type(metric))}"
    with torch.device("cpu"):
        generator = torch.Generator().manual_seed(0)
        video = torch.arange(_VIDEOS).repeat_interleave(_VIEWS)
        view = torch.arange(_VIEWS).repeat(_VIDEOS)
        logits = torch.randn(len(video), outputs(classes), generator=generator)
        try:
            metric.update(logits, _target(video, classes, several_labels), video=video, view=view)
            values = metric.compute()
            metric.reset()
        except Exception as error:  # a user's code raises anything
            raise ValueError(f"{name} fails: {fault_of(error)}") from error

    if not isinstance(values, dict):
        raise ValueError(f"{name} computes a {type(values).__name__}, expected a dict of values by name")
    for value_name, value in values.items():
        if not isinstance(value, Tensor) or value.ndim:
            raise ValueError(f"{name}: its {value_name} is {value!r}, expected a tensor of one number")
    missing = [needed for needed in _NEEDED if needed not in values]
    if missing:
        raise ValueError(
            f"{name} computes {', '.join(values) or 'nothing'}, but no {missing[0]}: extend the base's dict"
        )
    return list(values)


def _target(video: Tensor, classes: Classes, several_labels: bool) -> Tensor:
    """Return each clip's target: the number of its video, within the classes."""
    if several_labels:
        return torch.eye(outputs(classes))[video % outputs(classes)]
    numbers = [video % count for count in by_task(classes).values()]
    return torch.stack(numbers, dim=1) if isinstance(classes, dict) else numbers[0]
