"""Classes of one task or of several: their logits, labels and probabilities."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lit_video.utils.arguments import Count, Whole

# number of classes of a single task, or of each task by name, in the order of the logits' columns
Classes = Whole | dict[str, Count]
IGNORED = -100  # F.cross_entropy's default ignore_index


def by_task(classes: Any, single: str = "") -> dict[str, Any]:
    """Return the classes of each task, a number or names, by the task's name; ``single`` names a single task."""
    if isinstance(classes, dict) or classes is None:
        return classes or {}
    return {single: classes}


def outputs(classes: Classes) -> int:
    """Return the number of logits for these classes; the heads of several tasks are one linear layer.

    For 0 classes the result is 1: the network is built with one output, and then its classifier is removed.
    """
    return sum(by_task(classes).values()) or 1


def per_task(x: Tensor, classes: Classes | None) -> Sequence[Tensor]:
    """Split logits or soft labels ``(b, sum of classes)``, or class numbers ``(b, tasks)``, by task."""
    if not isinstance(classes, dict):
        return (x,)
    return torch.split(x, list(classes.values()), dim=1) if x.is_floating_point() else x.unbind(1)


def class_numbers(target: Tensor, classes: Classes | None) -> Tensor:
    """Return class numbers ``(tasks, b)``: as given, or the argmax of logits or soft labels."""
    numbers = per_task(target, classes)
    if target.is_floating_point():
        numbers = [x.argmax(1) for x in numbers]
    return torch.stack(tuple(numbers))


def soft_labels(labels: Tensor, classes: Classes, smoothing: float) -> Tensor:
    """Smooth class numbers ``(b,)`` or ``(b, tasks)`` to ``(b, sum of classes)``, each task over its own classes.

    Multi-hot labels ``(b, classes)`` of one task are smoothed too; ignored labels stay -100.
    """
    if labels.ndim == 2 and not isinstance(classes, dict):
        return labels.float().where(labels < 0, labels * (1 - smoothing) + smoothing / classes)

    tasks = zip(per_task(labels, classes), by_task(classes).values(), strict=True)
    return torch.cat([smooth(label, count, smoothing) for label, count in tasks], dim=1)


def smooth(labels: Tensor, classes: int, smoothing: float) -> Tensor:
    """Smooth class numbers ``(b,)`` to probabilities ``(b, classes)``; all classes share ``smoothing`` equally."""
    valid = (labels != IGNORED)[:, None]  # rows of ignored labels are zero and add no loss
    one_hot = F.one_hot(labels.clamp(min=0), classes)
    return (one_hot * (1 - smoothing) + smoothing / classes) * valid
