"""Clips per second of whole loaders: ours, stock PyTorchVideo's, and plain ones of torchcodec and decord."""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pytorchvideo.data import LabeledVideoDataset, RandomClipSampler
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torchvision.transforms.v2 import functional as F

from lit_video.benchmark.clip_decoders import SIDE, why_not
from lit_video.benchmark.data_timing import FRAMES, STOCK
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import Frames, frame_table
from lit_video.video.samplers import TrainingSampler
from lit_video.video.sampling import Dense

BATCH = 4
PLAIN = Augmentation(policy="none", erasing=0, smoothing=0)
Loader = Callable[[list[Path], float, int], Iterable[Any]]
# (path, seconds of a clip, where it begins in the free part, 0 to 1) -> its frames
Read = Callable[[Path, float, float], Frames]


def our_loader(paths: list[Path], seconds: float, workers: int) -> Iterable[Any]:
    """Random clips and crops, uint8."""
    view = TrainingView(PLAIN, SIDE)
    dataset = ClipDataset([VideoRecord(path, 0) for path in paths], Dense(seconds=seconds), FRAMES, view, seed=0)
    sampler = TrainingSampler(len(dataset), 0, batch_size=1)
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


class _Read(Dataset[Tensor]):
    """Random clips by a library on its own, cut as ours are."""

    def __init__(self, paths: list[Path], seconds: float, read: Read) -> None:
        self.paths = paths
        self.seconds = seconds
        self.read = read
        self.view = TrainingView(PLAIN, SIDE)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Tensor:
        return self.view(self.read(self.paths[index], self.seconds, random.random()))


def read_torchcodec(path: Path, seconds: float, share: float) -> Frames:
    """A clip by torchcodec, exact."""
    from torchcodec.decoders import VideoDecoder

    video = VideoDecoder(str(path), seek_mode="exact", num_ffmpeg_threads=1, dimension_order="NHWC")
    numbers = _spread(len(video), video.metadata.average_fps or 25, seconds, share)
    return np.asarray(video.get_frames_at(numbers).data.numpy())


def read_decord(path: Path, seconds: float, share: float) -> Frames:
    """A clip by decord."""
    import decord

    video = decord.VideoReader(str(path), num_threads=1)
    return np.asarray(video.get_batch(_spread(len(video), video.get_avg_fps(), seconds, share)).asnumpy())


def _spread(count: int, fps: float, seconds: float, share: float) -> list[int]:
    length = min(seconds * fps, count)
    first = share * (count - length)
    return [min(int(first + (i + 0.5) * length / FRAMES), count - 1) for i in range(FRAMES)]


def _loader_of(read: Read) -> Loader:
    return lambda paths, seconds, workers: DataLoader(
        _Read(paths, seconds, read), BATCH, shuffle=True, num_workers=workers
    )


LOADERS: dict[str, Loader] = {
    "lit_video": our_loader,
    STOCK: stock_loader,
    "torchcodec": _loader_of(read_torchcodec),
    "decord": _loader_of(read_decord),
}


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


def time_loaders(paths: list[Path], workers: list[int], clips: int) -> Iterator[dict[str, Any]]:
    """A row per loader and number of workers: dense clips of 8 frames, 64 frames long; stock reads a quarter as many.

    A library that is not here, or that fails, has a row that says why.
    """
    table = frame_table(paths[0])
    seconds = float(min(64 * table.seconds / table.count, table.seconds / 2))
    missing = {library: why_not(library) for library in LOADERS}
    yield from ({"library": library, "missing": reason} for library, reason in missing.items() if reason)
    here = [library for library, reason in missing.items() if not reason]
    for count in workers:
        for library in random.Random(count).sample(here, len(here)):
            wanted = max(clips // 4 if library == STOCK else clips, BATCH)
            try:
                yield loader_row(library, (paths * wanted)[:wanted], seconds, count)
            except RuntimeError as error:  # of a foreign library: it is reported, not hidden
                if library == "lit_video":
                    raise
                yield {"library": library, "workers": count, "missing": str(error).splitlines()[-1][:200]}
