"""CPU time per clip of every library, and clips per second of loaders, on the videos of a folder."""

import os
import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from pytorchvideo.data import LabeledVideoDataset, RandomClipSampler
from torch.utils.data import DataLoader, RandomSampler
from torchvision.transforms.v2 import functional as F

from lit_video.benchmark.clip_decoders import SIDE, ClipDecoder, cut, same, truth
from lit_video.benchmark.sample_videos import KINDS
from lit_video.datamodules.folder import EXTENSIONS
from lit_video.errors import UserError
from lit_video.video.augmentation import Augmentation, TrainingView
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, frame_table
from lit_video.video.samplers import TrainingSampler
from lit_video.video.sampling import Dense

BATCH = 4
FRAMES = 8
Loader = Callable[[list[Path], float, int], Iterable[Any]]
SAMPLINGS = ("stride 8", "stride 32", "whole")
STOCK = "PyTorchVideo"


def video_groups(root: Path, each: int) -> dict[str, list[Path]]:
    """Readable videos under a folder, at most ``each``: by kind if we made them, else all together.

    Raises:
        UserError: there are none.
    """
    files = sorted(p for p in root.rglob("[!.]*") if p.suffix.lower() in EXTENSIONS)
    kinds = {kind.name: [p for p in files if p.parent == root / kind.name] for kind in KINDS}
    made = {name: paths for name, paths in kinds.items() if paths}
    chosen = made or {root.resolve().name: random.Random(0).sample(files, len(files))}
    groups = {name: [p for p in paths if _readable(p)][:each] for name, paths in chosen.items()}
    if not any(groups.values()):
        raise UserError(f"{root}: no video in this folder that can be read; --make makes some")
    return {name: paths for name, paths in groups.items() if paths}


def _readable(path: Path) -> bool:
    try:
        return frame_table(path).count > 0
    except DecodeError as error:
        print(f"left out: {error}", file=sys.stderr)
        return False


def time_clips(
    decoders: list[ClipDecoder], paths: list[Path], sampling: str, clips: int
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """CPU time per clip of each library, in a random order for every clip; only where its pixels are right."""
    draw = random.Random(0)
    times: dict[str, dict[int, tuple[float, float]]] = {decoder.name: {} for decoder in decoders}
    errors = []
    for i, path in enumerate(path for path in paths for _ in range(clips)):
        clip = cut(path, sampling, FRAMES, draw.random())
        expected = truth(clip)
        for decoder in draw.sample(decoders, len(decoders)):
            wrong = same(decoder, clip, expected)
            if wrong:
                errors.append({"library": decoder.name, "video": str(path), "sampling": sampling, "error": wrong})
                continue
            times[decoder.name][i] = _time(decoder, clip)
        done = f"{sampling}, clip {i + 1} of {len(paths) * clips}: {path}"
        print(done, {k: f"{1000 * v[i][0]:.0f} ms" for k, v in times.items() if i in v}, file=sys.stderr, flush=True)
    stock = times.get(STOCK, {})
    return [_row(name, each, stock) for name, each in times.items()], errors


def _time(decoder: ClipDecoder, clip: Any) -> tuple[float, float]:
    """CPU seconds, of all threads, to decode, and to decode and transform."""
    start = time.process_time()
    frames = decoder.decode(clip)
    decoded = time.process_time()
    decoder.transform(frames)
    return decoded - start, time.process_time() - start


def _row(name: str, times: dict[int, tuple[float, float]], stock: dict[int, tuple[float, float]]) -> dict[str, Any]:
    """Medians over the clips, and how many times stock takes longer for the same clip, the median too."""
    row: dict[str, Any] = {"library": name, "clips": len(times)}
    for part, key in enumerate(("decode", "transform")):
        ratios = [stock[i][part] / times[i][part] for i in times if i in stock]
        row[f"{key}_seconds"] = median(t[part] for t in times.values()) if times else None
        row[f"{key}_ratio"] = median(ratios) if ratios else None
    return row


def our_loader(paths: list[Path], seconds: float, workers: int) -> Iterable[Any]:
    """Random clips and crops, uint8."""
    view = TrainingView(Augmentation(policy="none", erasing=0, smoothing=0), SIDE)
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


LOADERS: dict[str, Loader] = {"lit_video": our_loader, STOCK: stock_loader}


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


def time_loaders(groups: dict[str, list[Path]], workers: list[int], clips: int) -> list[dict[str, Any]]:
    """Loaders over each kind of video: dense clips of 8 frames, 64 frames long; stock reads a quarter as many."""
    rows = []
    for name, paths in groups.items():
        table = frame_table(paths[0])
        seconds = float(min(64 * table.seconds / table.count, table.seconds / 2))
        for count in workers:
            for library in random.Random(count).sample(list(LOADERS), len(LOADERS)):
                wanted = max(clips // 4 if library == STOCK else clips, BATCH)
                row = loader_row(library, (paths * wanted)[:wanted], seconds, count)
                rows.append({"videos": name} | row)
                print(f"loader, {name}: {library}, {count} workers", file=sys.stderr, flush=True)
    return rows
