"""Accuracy over videos, every view of every video counted exactly once."""

from __future__ import annotations

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat


class VideoAccuracy(Metric):
    """Top-k accuracy of videos whose views' logits are averaged (X-ViT's release adds raw logits).

    Views are told apart by number, so what a distributed sampler repeats to fill its last batch is counted once, and
    any number of processes gives the result of one.

    Args:
        top: the k of each accuracy.
    """

    video: list[Tensor]
    view: list[Tensor]
    logits: list[Tensor]
    target: list[Tensor]

    def __init__(self, top: tuple[int, ...] = (1, 5)) -> None:
        super().__init__()
        self.top = top
        for name in ("video", "view", "logits", "target"):
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, logits: Tensor, target: Tensor, video: Tensor, view: Tensor) -> None:
        """Take a batch: logits ``(b, classes)``, the others ``(b,)``."""
        self.logits.append(logits.detach().float())
        self.target.append(target)
        self.video.append(video)
        self.view.append(view)

    def per_video(self) -> tuple[Tensor, Tensor]:
        """Mean logits ``(videos, classes)`` and target ``(videos,)``, in the order of the video numbers."""
        video, view = dim_zero_cat(self.video), dim_zero_cat(self.view)
        logits, target = dim_zero_cat(self.logits), dim_zero_cat(self.target)
        _, inverse = torch.unique(torch.stack((video, view), dim=1), dim=0, return_inverse=True)
        first = torch.full((int(inverse.max()) + 1,), len(video), device=video.device)
        first = first.scatter_reduce(0, inverse, torch.arange(len(video), device=video.device), "amin")
        numbers, of_video = torch.unique(video[first], return_inverse=True)
        total = torch.zeros(len(numbers), logits.shape[1], device=logits.device).index_add(0, of_video, logits[first])
        targets = torch.zeros(len(numbers), dtype=target.dtype, device=target.device)
        targets[of_video] = target[first]
        return total / torch.bincount(of_video)[:, None], targets

    def compute(self) -> dict[str, Tensor]:
        """``top1``, ``top5``, ... in percent, and ``videos``, the number of videos."""
        logits, target = self.per_video()
        rank = logits.argsort(dim=1, descending=True, stable=True)
        hit = rank == target[:, None]
        result = {f"top{k}": 100 * hit[:, :k].any(1).float().mean() for k in self.top}
        return result | {"videos": torch.tensor(float(len(target)), device=target.device)}
