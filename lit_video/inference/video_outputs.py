"""Videos through a model one after the other: the logits and features of each as soon as its last view is done."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from lit_video.datamodules.video_list import VideoList
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

    def as_plain(self) -> dict[str, str]:
        """As text, bit for bit."""
        packed = {name: b64encode(getattr(self, name).numpy().tobytes()).decode() for name in ("logits", "features")}
        return packed | {"broken": self.broken}

    @classmethod
    def from_plain(cls, plain: Mapping[str, str]) -> Self:
        """From what :meth:`as_plain` gave."""
        logits, features = (
            torch.frombuffer(bytearray(b64decode(plain[name])), dtype=torch.float32) for name in ("logits", "features")
        )
        return cls(logits, features, plain["broken"])


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
