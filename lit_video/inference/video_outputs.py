"""Videos through a model one after the other: the logits and features of each as soon as its last view is done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from lit_video.datamodules.folder import VideoList
from lit_video.modules import VideoClassifier
from lit_video.network.head import head_inputs


@dataclass(frozen=True)
class VideoOutput:
    """Of one video, the mean over its views; one that cannot be read has numbers that mean nothing.

    Args:
        logits: ``(classes,)``.
        features: ``(d,)``, what enters the linear head.
        broken: why the video cannot be read, or an empty string.
    """

    logits: Tensor
    features: Tensor
    broken: str = ""


def outputs_of(model: VideoClassifier, data: VideoList, on: torch.device) -> Iterator[VideoOutput]:
    """The output of every video of ``data``, in its order, of a model on the device ``on``."""
    views: list[tuple[Tensor, Tensor, str]] = []  # of the video at hand: logits and features of each clip's crops
    videos = iter(data.listed)
    for raw in data.test_dataloader():
        batch = data.on_after_batch_transfer({k: v.to(on) if isinstance(v, Tensor) else v for k, v in raw.items()}, 0)
        with torch.inference_mode(), head_inputs(model.network) as inputs:
            logits = model(batch["clip"]).float().cpu()
        clips = len(raw["video"])
        for view in zip(logits.chunk(clips), inputs[0].float().cpu().chunk(clips), raw["broken"], strict=True):
            views.append(view)
            if len(views) == data.test_clips:
                yield _averaged(views, next(videos).path)
                views = []


def _averaged(views: Sequence[tuple[Tensor, Tensor, str]], path: Path) -> VideoOutput:
    logits, features, reasons = zip(*views, strict=True)
    # a reason begins with the path, which is known
    broken = next(filter(None, reasons), "").removeprefix(f"{path}: ")
    return VideoOutput(torch.cat(logits).mean(0), torch.cat(features).mean(0), broken)
