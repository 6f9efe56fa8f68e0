"""What ``predict`` does: videos through the evaluation path of the data set that the model was trained on."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import Any, TypeVar

import torch
from rich.console import Console
from rich.progress import Progress, track
from torch import Tensor

from lit_video.datamodules.folder import EXTENSIONS
from lit_video.datamodules.video_list import OwnVideos
from lit_video.errors import UserError
from lit_video.inference.checkpoints import TrainedModel, load_trained_model
from lit_video.inference.overlay import draw, drawn_paths
from lit_video.inference.ranking import RankedVideo, predictions, print_table, write_features, write_ranking
from lit_video.network.head import head_inputs
from lit_video.video.decoding import DecodeError

Videos = TypeVar("Videos", bound=OwnVideos)


@dataclass(frozen=True)
class VideoOutputs:
    """What a model makes of videos, the views of each averaged.

    Args:
        logits: ``(videos, classes)``, of those that could be read.
        features: ``(videos, d)``, what enters the linear head.
        paths: of these videos.
        broken: why the others could not be read.
    """

    logits: Tensor
    features: Tensor
    paths: list[Path]
    broken: dict[Path, str]


def run(asked: Namespace) -> int:
    """Predict what the command line asks for (see ``predict --help``); 1 if a video could not be read.

    Raises:
        UserError: a flag, a path or the checkpoint is wrong.
    """
    paths = find_videos(asked.videos)
    targets = drawn_paths(asked.draw, paths) if asked.draw else {}
    trained = load_trained_model(asked.ckpt)
    data = own_videos(trained, paths, asked)
    outputs = compute(trained, data, device(asked.device))
    found = predictions(outputs.paths, outputs.logits, trained.class_names, asked.top)
    if found:
        print_table(found)
    if asked.output:
        write_ranking(asked.output, found, outputs.broken)
    if asked.features:
        write_features(asked.features, outputs.paths, outputs.features, outputs.logits, trained.class_names)
    broken = outputs.broken | dict(draw_all(found, targets))
    for path, reason in broken.items():
        print(f"{path}: {reason}", file=sys.stderr)
    if broken:
        print(f"{len(broken)} of {len(paths)} videos could not be read", file=sys.stderr)
    return 1 if broken else 0


def find_videos(asked: Sequence[str]) -> list[Path]:
    """Videos by path, by folder (all below it, by their ending) and by pattern, each once.

    Raises:
        UserError: there is none.
    """
    found: dict[Path, None] = {}
    for text in asked:
        if not Path(text).exists() and not has_magic(text):
            raise UserError(f"{text}: no such file or folder")
        places = [Path(text)] if Path(text).exists() else [Path(p) for p in sorted(glob(text, recursive=True))]
        videos = [video for place in places for video in (_below(place) if place.is_dir() else [place])]
        if not videos:
            raise UserError(f"{text}: {'holds no video' if places else 'matches no file'} ({', '.join(EXTENSIONS)})")
        found |= dict.fromkeys(videos)
    return list(found)


def _below(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in EXTENSIONS and p.is_file())


def own_videos(trained: TrainedModel, paths: Sequence[Path], asked: Namespace) -> OwnVideos:
    """The videos, cut as the model's test cuts them, but for the views that are asked for.

    Raises:
        UserError: the sampling cannot give these views.
    """
    return evaluated(partial(OwnVideos, paths), trained, asked)


def evaluated(build: Callable[..., Videos], trained: TrainedModel, asked: Namespace) -> Videos:
    """A data set on the evaluation path of the model's, but for the views that are asked for.

    Raises:
        UserError: the sampling cannot give these views.
    """
    views = {"test_clips": asked.clips, "test_crops": asked.crops}
    settings = trained.settings | {name: count for name, count in views.items() if count}
    try:
        return build(**settings, batch_size=asked.batch, num_workers=asked.workers, broken="report")
    except ValueError as error:
        raise UserError(f"--clips, --crops: {error}") from error


def device(asked: str | None) -> torch.device:
    """The device that is asked for, else the best there is.

    Raises:
        UserError: there is no GPU.
    """
    if asked == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: PyTorch finds no GPU here; leave the flag out")
    return torch.device(asked or ("cuda" if torch.cuda.is_available() else "cpu"))


def compute(trained: TrainedModel, data: OwnVideos, on: torch.device) -> VideoOutputs:
    """Logits and features of every video that can be read in all its views."""
    model = trained.model.to(on)
    broken: dict[Path, str] = {}
    logits, features, seen = [], [], []
    for raw in _progress(data):
        of_video = raw["video"].tolist()
        broken |= {data.paths[v]: reason for v, reason in zip(of_video, raw["broken"], strict=True) if reason}
        batch = data.on_after_batch_transfer({k: v.to(on) if isinstance(v, Tensor) else v for k, v in raw.items()}, 0)
        with torch.inference_mode(), head_inputs(model.network) as inputs:
            logits.append(model(batch["clip"]).float().cpu())
        features.append(inputs[0].float().cpu())
        seen.append(raw["video"].repeat_interleave(raw["clip"].shape[1]))
    videos = torch.cat(seen)
    read = [v for v, path in enumerate(data.paths) if path not in broken]
    means = [_mean(torch.cat(rows), videos, len(data.paths))[read] for rows in (logits, features)]
    # a reason begins with the path, which whoever prints it says anyway
    reasons = {path: reason.removeprefix(f"{path}: ") for path, reason in broken.items()}
    return VideoOutputs(means[0], means[1], [data.paths[v] for v in read], reasons)


def _mean(rows: Tensor, of: Tensor, count: int) -> Tensor:
    """Mean of the rows of every video, each of which has as many: ``(rows, d) -> (count, d)``."""
    return torch.zeros(count, rows.shape[1]).index_add_(0, of, rows) / (len(of) // count)


def _progress(data: OwnVideos) -> Iterator[dict[str, Any]]:
    """Batches, with a bar over videos on a terminal."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("Predicting", total=len(data.paths))
        for raw in data.test_dataloader():
            yield raw
            bar.advance(task, len(raw["video"]) / data.test_clips)


def draw_all(found: Sequence[RankedVideo], targets: dict[Path, Path]) -> Iterator[tuple[Path, str]]:
    """Write the videos with their predictions; yields those that cannot be decoded to their end, with the reason."""
    todo = [prediction for prediction in found if prediction.path in targets]
    bar = track(todo, "Drawing", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    for prediction in bar:
        try:
            draw(prediction.path, targets[prediction.path], prediction.lines())
        except DecodeError as error:
            yield prediction.path, str(error).removeprefix(f"{prediction.path}: ")
