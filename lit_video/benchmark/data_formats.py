"""What a clip costs from each form in which videos can be kept: CPU time, bytes, loss, and cores for a rate."""

import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from torch.utils.data import default_collate

from lit_video.datamodules.digest import text_digest
from lit_video.datamodules.preparation.encoding import PRESETS, encode
from lit_video.datamodules.preparation.encoding import resized as resized_video
from lit_video.datamodules.preparation.shards import Pictures, resized, write_shards
from lit_video.datamodules.shards import VideoShards
from lit_video.datamodules.video_list import VideoList
from lit_video.utils.parallel import in_parallel
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import Frames, decode_in_order, forget_tables, frame_table
from lit_video.video.sampling import DenseStride
from lit_video.video.seeding import seeded

FORMATS = ("source", *PRESETS, "shards")
EVERY = 10  # frames of which one is compared


def time_formats(
    paths: Sequence[Path], formats: Sequence[str], folder: Path, clips: int, augmentation: Augmentation, side: int
) -> Iterator[dict[str, Any]]:
    """A row per format: medians of random training clips, 8 frames with stride 8, one of each format by turns.

    A clip's time is of one core: to find and decode its frames as if the video were new, to crop, resize and augment
    them, and to collate. Videos in other formats are made in a folder, unless they are there.

    Raises:
        DecodeError: a video cannot be read to its end.
    """
    records = {name: _records(name, paths, folder) for name in formats}
    view = TrainingView(augmentation, side)
    sets = {name: ClipDataset(records[name], DenseStride(8), 8, view, seed=0) for name in formats}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in formats}
    draw = random.Random(0)
    for clip, video in [(clip, video) for video in range(len(paths)) for clip in range(clips)]:
        for name in draw.sample(list(formats), len(formats)):
            times[name].append(_time(sets[name], clip, video))
    for name in formats:
        decoding, whole = (median(each) for each in zip(*times[name], strict=True))
        yield {
            "format": name,
            "clips": len(times[name]),
            "size_ratio": _size(records[name]) / sum(path.stat().st_size for path in paths),
            "psnr": None if name == "source" else _psnr(name, records[name], paths),
            "decode_seconds": decoding,
            "clip_seconds": whole,
        }


def _time(dataset: ClipDataset, epoch: int, video: int) -> tuple[float, float]:
    """CPU seconds to decode a clip, and to make a batch of it."""
    forget_tables()
    record = dataset.records[video]
    with seeded("benchmark", epoch, video):
        start = time.process_time()
        frames = record.decode(dataset.numbers(record, 0))
        decoded = time.process_time()
        default_collate([dataset.view(frames)])
        return decoded - start, time.process_time() - start


def _records(name: str, paths: Sequence[Path], folder: Path) -> list[VideoRecord]:
    if name == "source":
        return [VideoRecord(path, 0) for path in paths]
    made = repr(PRESETS.get(name))  # type: ignore[call-overload]  # those of another version are others
    listed = text_digest([made, *(f"{path.resolve()} {path.stat().st_mtime_ns}" for path in paths)])
    if name == "shards":
        write_shards(_Unlabelled([VideoRecord(path, 0) for path in paths]), folder / f"shards-{listed}", Pictures())
        return VideoShards(str(folder / f"shards-{listed}")).records("train")
    targets = [folder / f"{name}-{listed}" / f"{i}.mp4" for i in range(len(paths))]
    left = [(path, target) for path, target in zip(paths, targets, strict=True) if not target.exists()]
    for _ in in_parallel(partial(_make, name), left, f"videos {name}"):
        pass
    return [VideoRecord(target, 0) for target in targets]


class _Unlabelled(VideoList):
    """Of one class."""

    @property
    def class_names(self) -> list[str]:
        return ["video"]


def _make(preset: Any, job: tuple[Path, Path]) -> None:
    source, target = job
    encode(source, target, PRESETS[preset])


def _size(records: Sequence[VideoRecord]) -> int:
    """Bytes of the videos; of shards with their descriptions."""
    files = {Path(record.place.shard if record.place else record.path) for record in records}
    return sum(file.stat().st_size for file in files)


def _psnr(name: str, records: Sequence[VideoRecord], paths: Sequence[Path]) -> float:
    """Peak signal-to-noise ratio in dB of all colours against the source, resized likewise; infinite without loss."""
    errors = []
    for record, path in zip(records, paths, strict=True):
        expected = _expected(name, path)
        actual = record.decode_in_order(range(record.table().count))
        pairs = [pair for i, pair in enumerate(zip(actual, expected, strict=True)) if i % EVERY == 0]
        errors += [np.mean((a.astype(np.float64) - b) ** 2) for a, b in pairs]
    error = float(np.mean(errors))
    return 10 * float(np.log10(255**2 / error)) if error else float("inf")


def _expected(name: str, path: Path) -> Iterator[Frames]:
    if name == "shards":
        pictures = Pictures()
        frames = decode_in_order(path, range(frame_table(path).count))
        return (np.asarray(resized(frame, pictures.short_side)) for frame in frames)
    short_side = PRESETS[name].short_side  # type: ignore[index]  # checked to be a format
    return (np.asarray(frame.to_ndarray(format="rgb24"), np.uint8) for frame in resized_video(path, short_side))
