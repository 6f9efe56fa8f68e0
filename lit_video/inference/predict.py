"""Trained models and their predictions on videos: logits, features, class names."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.fabric.utilities import move_data_to_device
from numpy.typing import NDArray
from torch import Tensor

from lit_video import datamodules, modules
from lit_video.datamodules.folder import VideoList
from lit_video.datamodules.released import EPIC_CLASSES
from lit_video.errors import OptionError, UserError, one_line
from lit_video.inference.checkpoints import build_model, read_checkpoint
from lit_video.inference.ranking import (
    ONLY_TASK,
    ClassNames,
    RankedVideo,
    ranked_videos,
    ranking_table,
    summary_of,
    table_of,
    write_features,
    write_ranking,
)
from lit_video.inference.videos import Evaluation, Paths, find_videos
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import video_logits, view_scores
from lit_video.network.aggregation import last_linear
from lit_video.network.streaming import CANNOT, Stream
from lit_video.network.transformer import VideoTransformer
from lit_video.settings.effects import data_names, of_group, picked
from lit_video.utils.arguments import Count, refuse_wrong_values
from lit_video.utils.classes import Classes, by_task, outputs
from lit_video.utils.clip_shape import size_in_words
from lit_video.utils.environment import choose_device
from lit_video.utils.files import writing
from lit_video.utils.parallel import with_progress
from lit_video.utils.text import Part, Shown, TextTable
from lit_video.video.batch import normalise
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import forget_tables
from lit_video.video.settings import SETTINGS, restored_settings, stored_settings
from lit_video.video.trained_on import joined, overlap_in_words, seen
from lit_video.weights.hub import find, find_start, published_name, weights_path
from lit_video.weights.reading import CHECKPOINT_KEY, MODEL_KEY, read_weights
from lit_video.weights.settings import channel_pixels, fold_pixels, number_of_classes, refuse_other_pixels

# a video's logits (classes,), its features (width,), and the reason if it is unreadable, else an empty text;
# features of width 0 if the model has no linear head
Output = tuple[Tensor, Tensor, str]


def _outputs(model: VideoClassifier, data: VideoList, on: torch.device) -> Iterator[Output]:
    """Yield every video's output in order, averaged over views; an unreadable video's logits are meaningless.

    If some of a video's views are unreadable, the first reason is kept.
    """
    # one entry for each clip of the current video, with scores (crops, classes) and features (crops, width)
    views: list[Output] = []
    videos = iter(data.listed)
    inputs: list[Tensor] = []
    if last_linear(model.network):
        model, inputs = model.keeping_features()
    for raw in data.test_dataloader():
        batch = data.normalise(move_data_to_device(raw, on))
        with torch.inference_mode():
            logits = model(batch["clip"]).float().cpu()

        scores = view_scores(logits, model.view_average, model.num_classes)
        features = inputs.pop().float().cpu() if inputs else logits[:, :0]
        clips = len(raw["video"])
        for view in zip(scores.chunk(clips), features.chunk(clips), raw["broken"], strict=True):
            views.append(view)
            if len(views) < data.test_clips:
                continue

            of_clips, features_of_clips, reasons = zip(*views, strict=True)
            mean = video_logits(torch.cat(of_clips).mean(0), model.view_average)
            reason = next(filter(None, reasons), "").removeprefix(f"{next(videos).path}: ")
            yield mean, torch.cat(features_of_clips).mean(0), reason
            views = []


@dataclass(frozen=True, repr=False)
class VideoPredictions(Shown):
    """Predicted classes of videos, with logits and features averaged over views."""

    paths: list[Path]  # videos that could be read
    logits: Tensor  # (videos, classes), concatenated over tasks
    features: Tensor  # (videos, width), the linear head's input; of width 0 without such a head
    class_names: ClassNames  # in the order of the logits; for several tasks a dict by task
    broken: dict[Path, str]  # for each unreadable video the reason
    ranked: list[RankedVideo]  # for each path the most probable classes, and whether the model was trained on it

    @property
    def trained_on(self) -> str:
        """How many of the videos the model was trained on, in words; empty if none or unknown."""
        return overlap_in_words([video.trained_on for video in self.ranked])

    @property
    def checked_features(self) -> Tensor:
        """Features, ``(videos, width)``.

        Raises:
            UserError: the model has none, because its own aggregation has no last layer called ``head``.
        """
        if self.paths and not self.features.shape[1]:
            raise UserError(
                "the model has no features: give its aggregation its last linear layer as the attribute head"
            )
        return self.features

    @property
    def table(self) -> str:
        """Predictions as a text table."""
        return table_of(self.ranked)

    @property
    def summary(self) -> str:
        """Text table with a line per predicted class: the number of its videos, and the least certain of them."""
        return summary_of(self.ranked)

    def write(self, path: str | Path) -> Path:
        """Write a ``.csv`` with a row per video, see :func:`~lit_video.inference.ranking.write_ranking`."""
        with writing("--output", Path(path)):
            write_ranking(Path(path), self.ranked, self.broken)
        return Path(path)

    def write_features(self, path: str | Path) -> Path:
        """Write features and logits as ``.npz``, see :func:`~lit_video.inference.ranking.write_features`."""
        features = self.checked_features
        with writing("--features", Path(path)):
            write_features(Path(path), self.paths, features, logits=self.logits, names=self.class_names)
        return Path(path)

    def parts(self) -> Sequence[Part]:
        """Return a table of the predictions, and a line for each video that could not be read."""
        parts: list[Part] = [TextTable("", *ranking_table(self.ranked))] if self.ranked else []
        return [*parts, *(f"{path}: {reason}" for path, reason in self.broken.items())]


LABELS_SHOWN = 5  # classes that a loaded model shows of each task


@dataclass(frozen=True, repr=False)
class TrainedModel:
    """A trained model, its class names and the settings of its clips."""

    model: VideoClassifier  # on the CPU, in eval mode
    class_names: ClassNames  # in the order of the logits; for several tasks a dict by task
    settings: dict[str, Any]  # arguments of a data set, see stored_settings()
    trained_on: str = ""  # training videos, see lit_video.video.trained_on; empty if unknown (published weights)
    weights: str = ""  # weights that it has or was trained from, ``hub:NAME`` for published ones; empty from scratch

    def __repr__(self) -> str:
        facts = [type(self.model).__name__]
        if {"num_frames", "image_size"} <= self.settings.keys():
            size = size_in_words(self.settings["image_size"])
            facts.append(f"clips of {self.settings['num_frames']} frames x {size} pixels")
        for task, names in by_task(self.class_names, ONLY_TASK).items():
            more = ", ..." if len(names) > LABELS_SHOWN else ""
            facts.append(f"{len(names)} of {task}: {', '.join(names[:LABELS_SHOWN])}{more}")
        return f"TrainedModel({'; '.join(facts)})"

    def saw(self, videos: Sequence[VideoRecord]) -> list[bool | None]:
        """Return whether the model was trained on each video, by path or content; ``None`` if unknown."""
        return [*seen(self.trained_on, videos)] if self.trained_on else [None] * len(videos)

    def predict(self, videos: Paths, top: int = 5, evaluation: Evaluation | None = None) -> VideoPredictions:
        """Classify videos: see :func:`predict`."""
        return predict(self, videos, top, evaluation=evaluation)

    def transform(self, frames: NDArray[np.uint8]) -> Tensor:
        """Crop and normalise one clip's frames as in the test, for ``model``.

        Shape: ``(frames, height, width, 3)``, RGB -> float ``(crops, 3, frames, crop height, crop width)``.
        """
        if getattr(frames, "dtype", None) != np.uint8 or frames.ndim != 4 or frames.shape[-1] != 3:
            kind = f"{getattr(frames, 'dtype', type(frames).__name__)} {tuple(np.shape(frames))}"
            raise UserError(f"frames are {kind}, expected uint8 pixels from 0 to 255, (frames, height, width, 3)")
        data = VideoList([], **self.settings)
        views = data.view(data.test_crops)(frames)
        return normalise(views[None], data.mean, data.std, channels=data.channels)


def load(source: str | Path | TrainedModel) -> TrainedModel:
    """Load a trained model with its classes and the settings of its clips.

    Args:
        source: a run's folder (``finetune`` prints it) or its ``last.ckpt``; the name of published weights that were
            fetched (classes without names get numbers); or a loaded model.

    Raises:
        UserError: there is no such run, its checkpoint is wrong, or the weights have not been fetched or do not fit.
    """
    if isinstance(source, TrainedModel):
        return source

    path = find_start(str(source), "ckpt")
    if isinstance(path, str):
        return _released(path)

    checkpoint = read_checkpoint(path)
    stored = checkpoint.get(CHECKPOINT_KEY)
    if stored is None:
        cause = "another program wrote it, or the training had no data module"
        raise OptionError("ckpt", f"{path} has no class names: {cause}")

    model = build_model(checkpoint, VideoClassifier, path)
    try:
        settings = restored_settings(stored["data"])
        VideoList([], **settings)
        trained_on = joined(str(stored.get("trained_on") or ""))
    except Exception as error:  # the file may hold any other content
        raise OptionError("ckpt", f"{path} has unusable data settings: {one_line(error)}") from error
    named = published_name(path) or str(model.hparams.get("weights") or "")
    return TrainedModel(model, stored["class_names"], settings, trained_on, weights=named)


def from_pretrained(source: str | Path) -> VideoClassifier:
    """Return only the model of :func:`load`, on the CPU, in eval mode; it maps clips ``(b, 3, t, h, w)`` to logits.

    Unlike :func:`load`, it takes checkpoints of trainings without a data module, which hold no class names and no
    settings of clips.
    """
    path = find_start(str(source), "ckpt")
    if isinstance(path, Path):
        checkpoint = read_checkpoint(path)
        family = getattr(modules, str(checkpoint.get(MODEL_KEY, {}).get("family")), None)
        if CHECKPOINT_KEY not in checkpoint and isinstance(family, type) and issubclass(family, VideoClassifier):
            return build_model(checkpoint, family, path)
    return load(source).model


def stream(model: VideoClassifier | VideoTransformer | str | Path) -> Stream:
    """Prepare a causal X-ViT to read videos frame by frame: it computes only new frames and returns logits after each.

    ``model`` is an X-ViT trained with ``causal: true`` and ``positions: space``, in eval mode, or a run (:func:`load`).
    The result maps the next normalised float frames ``(b, 3, t, height, width)`` to logits after each frame
    ``(b, t, classes)``, see :class:`~lit_video.network.streaming.Stream`. ``reset()`` starts new videos.

    Raises:
        ValueError: the model cannot stream.
        UserError: the checkpoint is wrong.
    """
    if isinstance(model, str | Path):
        model = load(model).model

    network = model.network if isinstance(model, VideoClassifier) else model
    if not isinstance(network, VideoTransformer):
        raise ValueError(CANNOT)
    return Stream(network)


def _released(name: str) -> TrainedModel:
    """Build a published model with its weights, and the settings of its published evaluation."""
    settings = find(name).settings
    stored = read_weights(weights_path(name))
    num_classes = number_of_classes(stored.tensors) or 0
    classes: Classes = EPIC_CLASSES if num_classes == outputs(EPIC_CLASSES) else num_classes

    clips = picked(of_group(settings, "data"), SETTINGS)
    sampling = clips.get("sampling")
    if isinstance(sampling, str):
        clips["sampling"] = getattr(datamodules, sampling)()
    elif sampling:
        clips["sampling"] = getattr(datamodules, sampling["class_path"])(**sampling.get("init_args", {}))
    data = stored_settings(VideoList([], **clips))

    family = getattr(modules, settings["model"])
    clip_size = picked(clips, ("num_frames", "image_size"))
    model = family(classes, **clip_size, **of_group(settings, "model"), weights=name)
    model.setup("test")

    try:
        refuse_other_pixels(data, stored)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from error
    if pixels := channel_pixels(stored):
        mean, std = pixels
        fold_pixels(model.network.embed, mean, std, data=data)

    labels = stored.labels.get("", {})
    if isinstance(classes, dict):
        names: ClassNames = {task: _numbered(task, count) for task, count in classes.items()}
    elif len(labels) == classes:
        names = sorted(labels, key=labels.__getitem__)  # in the order of the logits
    else:
        names = _numbered("class", classes)
    return TrainedModel(model.eval(), names, clips, weights=name)


def _numbered(noun: str, count: int) -> list[str]:
    return [f"{noun} {i}" for i in range(count)]


def predict(
    ckpt: str | Path | TrainedModel,
    videos: Paths,
    top: Count = 5,
    *,
    evaluation: Evaluation | None = None,
) -> VideoPredictions:
    """Predict names and probabilities for videos.

    Only the checkpoint of a run is needed: it holds the class names and the settings of clips.

    Args:
        ckpt: a run's folder or checkpoint, or a loaded model, see :func:`load`.
        videos: files, and folders (all videos below them).
        top: number of classes to name for each video.
        evaluation: views, batches and device; ``None`` for the defaults.

    Raises:
        UserError: an argument or the checkpoint is wrong, or there is no video. Unreadable videos raise
            no error: see ``VideoPredictions.broken``.
    """
    refuse_wrong_values(predict, locals())
    evaluation = evaluation or Evaluation()
    records = find_videos(videos, evaluation.fps)
    trained = load(ckpt)
    device = choose_device(evaluation.device)
    outputs_of_videos = _outputs(trained.model.to(device), video_list(trained, records, evaluation), device)
    if evaluation.progress:
        outputs_of_videos = with_progress(outputs_of_videos, len(records), "predict")

    logits_of_videos, features_of_videos, reasons = zip(*outputs_of_videos, strict=True)
    broken = {record.path: reason for record, reason in zip(records, reasons, strict=True) if reason}
    readable = [record for record, reason in zip(records, reasons, strict=True) if not reason]
    paths = [record.path for record in readable]

    chosen = torch.tensor([not reason for reason in reasons])
    logits = torch.stack(logits_of_videos)[chosen]
    ranked = ranked_videos(
        paths,
        logits,
        trained.class_names,
        top=top,
        several_labels=trained.model.several_labels,
        trained_on=trained.saw(readable),
    )
    return VideoPredictions(
        paths=paths,
        logits=logits,
        features=torch.stack(features_of_videos)[chosen],
        class_names=trained.class_names,
        broken=broken,
        ranked=ranked,
    )


def video_list(trained: TrainedModel, records: Sequence[VideoRecord], evaluation: Evaluation) -> VideoList:
    """Build the data set of videos to evaluate, with the views of ``evaluation`` or of the model's test."""
    settings = dict(trained.settings)
    views = (evaluation.clips, evaluation.crops)
    for name, count in zip(data_names("counts"), views, strict=True):
        if count:
            settings[name] = count

    forget_tables()  # in a long process a path may hold a new video
    try:
        return VideoList(
            records,
            **settings,
            batch_size=evaluation.batch,
            num_workers=evaluation.workers,
            broken="report",
        )
    except ValueError as error:
        raise OptionError("clips, crops", error) from error
