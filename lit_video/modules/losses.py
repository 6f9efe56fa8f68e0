"""Losses of the user's own, in place of the cross entropy of a training."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lit_video.errors import fault_of
from lit_video.utils.class_paths import class_path
from lit_video.utils.classes import IGNORED, Classes, by_task, per_task

_CLIPS = 3  # clips of the check before training


class ClipLoss(nn.Module):
    """Base of losses of the user's own, built without arguments: one loss for each clip.

    Shape: logits ``(b, classes)``; target: probabilities ``(b, classes)`` that add up to 1, or 0 and 1 if a video may
    have several labels -> losses ``(b,)``. With several tasks, the loss is called for each, with its classes.
    """

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each clip."""
        raise NotImplementedError


def summed_loss(
    loss: ClipLoss, logits: Tensor, target: Tensor, *, classes: Classes | None, several_labels: bool
) -> Tensor:
    """Return a loss summed over clips, ``(tasks,)``; targets are as for the cross entropy.

    An unreadable clip adds 0, as does the unreadable share of a mixed clip. Losses are computed in float32 or more.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if several_labels:
        readable = (target >= 0).all(1)
        labels = target.clamp(min=0).to(logits)
        return (loss(logits, labels) * readable).sum()[None]

    sums = []
    for task_logits, task_target in zip(per_task(logits, classes), per_task(target, classes), strict=True):
        if task_target.is_floating_point():
            probabilities = task_target.to(task_logits)
        else:
            one_hot = F.one_hot(task_target.clamp(min=0), task_logits.shape[1])
            probabilities = (one_hot * (task_target != IGNORED)[:, None]).to(task_logits)
        share = probabilities.sum(1)
        uniform = torch.full_like(probabilities, 1 / probabilities.shape[1])  # any that keeps losses finite
        whole = torch.where(share[:, None] > 0, probabilities / share[:, None].clamp(min=1e-6), uniform)
        sums.append((loss(task_logits, whole) * share).sum())
    return torch.stack(sums)


def check_loss(loss: ClipLoss, classes: Classes, *, several_labels: bool) -> None:
    """Call a loss with random logits on the CPU.

    Raises:
        ValueError: it fails, gives no finite loss for each clip, or has no gradient.
    """
    name = f"loss {class_path(type(loss))}"
    for count in by_task(classes).values():
        with torch.device("cpu"), torch.enable_grad():
            generator = torch.Generator().manual_seed(0)
            logits = torch.randn(_CLIPS, count, generator=generator).requires_grad_()
            target = torch.eye(count)[torch.arange(_CLIPS) % count]
            try:
                losses = loss(logits, target)
                shape = tuple(losses.shape)
            except Exception as error:  # a user's code raises anything
                raise ValueError(f"{name} fails: {fault_of(error)}") from error

        expected = f"expected one for each clip, {(_CLIPS,)}"
        if shape != (_CLIPS,):
            raise ValueError(f"{name} gives {shape} for logits {tuple(logits.shape)}, {expected}")
        if not losses.isfinite().all():
            raise ValueError(f"{name} gives {losses.tolist()} for random logits, expected finite numbers")
        if not losses.requires_grad:
            raise ValueError(f"{name} has no gradient: it is detached from the logits")
