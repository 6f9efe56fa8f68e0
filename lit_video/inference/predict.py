"""Videos through the evaluation path of the data set that a model was trained on: logits, features, names."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from math import inf
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor

from lit_video.datamodules.folder import COMMON, EXTENSIONS, VideoList
from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import TrainedModel, load
from lit_video.inference.ranking import RankedVideo, ranked_videos
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import video_logits, view_scores
from lit_video.network.aggregation import head_inputs
from lit_video.utils.environment import choose_device
from lit_video.utils.files import files_below
from lit_video.utils.parallel import with_progress
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import forget_tables
from lit_video.video.decoding.images import EXTENSIONS as PICTURES


@dataclass(frozen=True)
class Evaluation:
    """Options of evaluating a model on videos.

    Args:
        clips: views in time of a video; ``None`` for as many as the model was tested on in training.
        crops: views in space of each, likewise.
        batch: clips at a time.
        workers: processes that decode; 0 decodes in this one.
        device: ``None`` for a GPU where there is one.
        progress: show a bar, if this is a terminal.
        fps: frames per second of folders of pictures, which are videos if it is given.

    Raises:
        UserError: a number is too small, or there is no such device.
    """

    clips: int | None = None
    crops: int | None = None
    batch: int = 8
    workers: int = 2
    device: Literal["cpu", "cuda"] | None = None
    progress: bool = False
    fps: float | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        for name, least in {"clips": 1, "crops": 1, "batch": 1, "workers": 0}.items():
            number = getattr(self, name)
            if number is not None and number < least:
                raise OptionError(name, f"is {number}, expected a whole number from {least}")
        if self.fps is not None and not 0 < self.fps < inf:
            raise OptionError("fps", f"is {self.fps:g}, expected more than 0")
        if self.device not in (None, "cpu", "cuda"):
            raise OptionError("device", f"is {self.device}, expected cpu or cuda")


Output = tuple[Tensor, Tensor, str]  # logits (classes,), features (d,), and why the video cannot be read, or ""


def outputs_of(trained: TrainedModel, data: VideoList, evaluation: Evaluation, name: str = "predict") -> list[Output]:
    """Compute the output of every video of ``data``, in its order; ``name`` is that of the work in the progress bar.

    Each is the mean over the video's views; the numbers of one that cannot be read mean nothing.
    """
    on = choose_device(evaluation.device)
    computed = _outputs(trained.model.to(on), data, on)
    return list(with_progress(computed, len(data.listed), name) if evaluation.progress else computed)


def _outputs(model: VideoClassifier, data: VideoList, on: torch.device) -> Iterator[Output]:
    views: list[Output] = []  # of the video at hand: logits and features of each clip's crops
    videos = iter(data.listed)
    for raw in data.test_dataloader():
        batch = data.normalise(move_data_to_device(raw, on))
        with torch.inference_mode(), head_inputs(model.network) as inputs:
            logits = model(batch["clip"]).float().cpu()
        scores = view_scores(logits, model.view_average, model.num_classes)
        clips = len(raw["video"])
        for view in zip(scores.chunk(clips), inputs[0].float().cpu().chunk(clips), raw["broken"], strict=True):
            views.append(view)
            if len(views) == data.test_clips:
                each, features, reasons = zip(*views, strict=True)
                # a reason begins with the path, which is known
                broken = next(filter(None, reasons), "").removeprefix(f"{next(videos).path}: ")
                yield video_logits(torch.cat(each).mean(0), model.view_average), torch.cat(features).mean(0), broken
                views = []


Paths = str | Path | Sequence[str | Path | VideoRecord]  # records are taken as they are


@dataclass(frozen=True)
class VideoPredictions:
    """Predicted classes of videos, with logits and features, the views of each averaged.

    Args:
        paths: paths of the videos that could be read.
        logits: ``(videos, classes)``, of several tasks side by side.
        features: ``(videos, d)``, what enters the linear head.
        class_names: by class number, of each task if there are several.
        broken: why the others could not be read.
        ranked: the most probable classes of each of ``paths``.
    """

    paths: list[Path]
    logits: Tensor
    features: Tensor
    class_names: list[str] | dict[str, list[str]]
    broken: dict[Path, str]
    ranked: list[RankedVideo]


def predict(
    ckpt: str | Path | TrainedModel, videos: Paths, top: int = 5, evaluation: Evaluation | None = None
) -> VideoPredictions:
    """Classify videos.

    Args:
        ckpt: see :func:`~lit_video.inference.checkpoints.load`: a loaded model, a run's folder, ``hub:NAME``.
        videos: files, folders (all videos below them) and patterns.
        top: classes to name of each video.
        evaluation: views, batches and device; ``None`` for the defaults.

    Raises:
        UserError: an argument or the checkpoint is wrong, or there is no video. One that cannot be read is no error:
            see ``broken``.
    """
    if top < 1:
        raise OptionError("top", f"is {top}, expected a whole number from 1")
    evaluation = evaluation or Evaluation()
    records = find_videos(videos, evaluation.fps)
    trained = load(ckpt)
    outputs = outputs_of(trained, video_list(trained, records, evaluation), evaluation)
    each, features, reasons = zip(*outputs, strict=True)
    read = [i for i, reason in enumerate(reasons) if not reason]
    paths, logits = [records[i].path for i in read], torch.stack(each)[read]
    broken = {record.path: reason for record, reason in zip(records, reasons, strict=True) if reason}
    ranked = ranked_videos(paths, logits, trained.class_names, top, trained.model.several_labels)
    return VideoPredictions(paths, logits, torch.stack(features)[read], trained.class_names, broken, ranked)


def find_videos(videos: Paths, fps: float | None = None) -> list[VideoRecord]:
    """Videos by path, by folder (all below it, by their ending) and by pattern, each once; their label means nothing.

    Folders of pictures count as videos if their frame rate ``fps`` is given.

    Raises:
        UserError: there is none, or a picture is named as a video.
    """
    given = [videos] if isinstance(videos, str | Path) else videos
    if records := [one for one in given if isinstance(one, VideoRecord)]:
        return records
    paths: dict[Path, None] = {}
    for text in map(str, given):
        if not Path(text).exists() and not has_magic(text):
            raise UserError(f"{text}: no such file or folder")
        matches = [Path(text)] if Path(text).exists() else [Path(p) for p in sorted(glob(text, recursive=True))]
        inside = [video for path in matches for video in (_below(path, fps) if path.is_dir() else [path])]
        if pictures := [path for path in inside if path.suffix.lower() in PICTURES]:
            raise UserError(f"{pictures[0]}: is a picture, not a video; give the folder of its frames, and --fps N")
        if not inside and any(_below(path, fps=1.0) for path in matches if path.is_dir()):
            raise UserError(f"{text}: holds pictures, no video; give --fps N, the frames per second of their taking")
        if not inside:
            raise UserError(f"{text}: {'holds no video' if matches else 'matches no file'} ({', '.join(COMMON)})")
        paths |= dict.fromkeys(inside)
    if not paths:
        raise OptionError("videos", "there is none")
    return [VideoRecord(path, 0, fps=fps if path.is_dir() else None) for path in paths]


def _below(folder: Path, fps: float | None) -> list[Path]:
    files = [path for path in files_below(folder) if path.is_file()]
    folders = {path.parent for path in files if path.suffix.lower() in PICTURES} if fps else set()
    return sorted([*(path for path in files if path.suffix.lower() in EXTENSIONS), *folders])


def own_folder(path: Path) -> str:
    """Name of the folder that a video lies in, or the link to it, whose target's name says nothing."""
    return Path(os.path.abspath(path)).parent.name


def video_list(trained: TrainedModel, records: Sequence[VideoRecord], evaluation: Evaluation) -> VideoList:
    """Videos on the evaluation path of the model's data set, with the views of ``evaluation`` where it sets them.

    They are looked at anew: in a process that goes on, a path may hold another video than it did.

    Raises:
        UserError: the sampling cannot give these views.
    """
    views = {"test_clips": evaluation.clips, "test_crops": evaluation.crops}
    settings = trained.settings | {name: count for name, count in views.items() if count}
    loading: dict[str, Any] = {"batch_size": evaluation.batch, "num_workers": evaluation.workers, "broken": "report"}
    forget_tables()
    try:
        return VideoList(records, **settings, **loading)
    except ValueError as error:
        raise OptionError("clips, crops", error) from error
