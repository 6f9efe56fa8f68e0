"""Whole loaders: ours and PyTorchVideo's ``LabeledVideoDataset``, by number of workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from pytorchvideo.data import LabeledVideoDataset, RandomClipSampler
from torch.utils.data import DataLoader, RandomSampler
from torchvision.transforms.v2 import functional as F

from lit_video.benchmark.clip_decoders import SIDE
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.clips import ClipDataset, EpochSampler, VideoRecord
from lit_video.video.sampling import Dense

BATCH = 4
FRAMES = 8
Loader = Callable[[list[Path], float, int], Iterable[Any]]


def our_loader(paths: list[Path], seconds: float, workers: int) -> Iterable[Any]:
    """Random clips and crops, uint8."""
    view = TrainingView(Augmentation(policy="none", erasing=0, smoothing=0), SIDE)
    dataset = ClipDataset([VideoRecord(path, 0) for path in paths], Dense(seconds=seconds), FRAMES, view, seed=0)
    sampler = EpochSampler(len(dataset), 0, shuffle=True, ranks=(1, 0), drop_last=True)
    return DataLoader(dataset, BATCH, sampler=sampler, num_workers=workers)


def stock_loader(paths: list[Path], seconds: float, workers: int) -> Iterable[Any]:
    """The same with ``LabeledVideoDataset`` and transforms as in its tutorial, float."""

    def transform(sample: dict[str, Any]) -> Any:
        video = sample["video"]
        index = torch.linspace(0, video.shape[1] - 1, FRAMES).long()  # as UniformTemporalSubsample
        clip = video.index_select(1, index).permute(1, 0, 2, 3) / 255
        clip = F.resize(clip, [256], antialias=True)
        top, left = (int(torch.randint(size - SIDE + 1, ())) for size in clip.shape[-2:])
        return F.crop(clip, top, left, SIDE, SIDE)

    dataset = LabeledVideoDataset(
        [(str(path), {"label": 0}) for path in paths],
        RandomClipSampler(seconds),
        RandomSampler,
        transform,
        decode_audio=False,
    )
    return DataLoader(dataset, BATCH, num_workers=workers)


LOADERS: dict[str, Loader] = {"lit_video": our_loader, "PyTorchVideo": stock_loader}


def loader_row(name: str, paths: list[Path], seconds: float, workers: int) -> dict[str, Any]:
    """Clips per second of one pass, start of the workers included, and CPU time per clip of all processes."""
    cpu, start, clips = os.times(), time.perf_counter(), 0
    for batch in LOADERS[name](paths, seconds, workers):
        clips += len(batch["clip"] if isinstance(batch, dict) else batch)
    elapsed, used = time.perf_counter() - start, sum(os.times()[:4]) - sum(cpu[:4])
    return {
        "library": name,
        "workers": workers,
        "clips": clips,
        "clips_per_second": clips / elapsed,
        "cpu_seconds_per_clip": used / max(clips, 1),
    }
