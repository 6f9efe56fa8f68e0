"""Attention maps of a trained model on a video: attention rollout over the video's frames."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules import VideoDataModule
from lit_video.errors import OptionError, UserError
from lit_video.inference.attention_picture import AttentionMaps
from lit_video.inference.checkpoints import TrainedModel, load_trained_model
from lit_video.inference.options import Evaluation
from lit_video.inference.predict import find_videos, unlabelled, video_list
from lit_video.inference.ranking import RankedVideo, ranked_videos
from lit_video.inference.rollout import Rollout, rollout, steps_of, tubelet_frames
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.video.clips import VideoRecord
from lit_video.video.crops import Box
from lit_video.video.decoding import Frames

LARGEST = 480  # pixels of the longer side of a frame that is drawn
Device = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Follow:
    """Output that the rollout follows back to the patches.

    Args:
        token: frame, row and column of a patch of the last layer, to start from instead of from what is classified.
        last_layer: follow attention through the last layer of the encoder only.
        head: head of the last layer instead of the mean over its heads.
    """

    token: Sequence[int] | None = None
    last_layer: bool = False
    head: int | None = None

    @property
    def words(self) -> str:
        """In words, for a picture."""
        what = "attention rollout" if self.head is None else f"head {self.head} of the last layer"
        start = "the output" if self.token is None else "patch {},{},{}".format(*self.token)
        return f"{what} from {start}" + (", last layer only" if self.last_layer and self.head is None else "")


@dataclass(frozen=True)
class SeenClip:
    """The centre view of a video.

    Args:
        record: the video.
        clip: as the model takes it, ``(1, 3, t, height, width)``.
        frames: frames of the clip's video, scaled down if large, ``(t, height, width, 3)``.
        box: part of the frames that the clip shows.
        seconds: when each is shown.
    """

    record: VideoRecord
    clip: Tensor
    frames: Frames
    box: Box
    seconds: list[float]


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    token: Sequence[int] | None = None,
    last_layer: bool = False,
    device: Device | None = None,
    label: str | None = None,
) -> AttentionMaps:
    """Compute attention maps of a trained model for the centre view of a video.

    Args:
        ckpt: a run's ``last.ckpt``.
        video: its file.
        token: frame, row and column of a patch of the last layer, to follow attention from there instead of from what
            is classified.
        last_layer: follow it through the last layer of the encoder only.
        device: ``None`` for a GPU where there is one.
        label: the true class; ``None`` for the name of the video's folder, where that is a class.

    Raises:
        UserError: the video cannot be read, the checkpoint is wrong or its model has no attention, or ``token`` is no
            patch.
    """
    if token is not None and len(token) != 3:
        raise OptionError("token", f"is {token}, expected frame, row and column of a patch")
    (record,), trained = one_video(video), load_with_attention(Path(ckpt))
    return maps_of(trained, record, Follow(token, last_layer), label or folder_class(record.path, trained), device)


def attention_of_heads(
    trained: TrainedModel, record: VideoRecord, label: str | None, device: Device | None = None
) -> list[AttentionMaps]:
    """Compute attention maps of every head of the last layer alone, through that layer only.

    Raises:
        UserError: the video cannot be read, or the last layer reads no patches.
    """
    network = trained.model.network
    assert isinstance(network, VideoTransformer)
    try:
        heads = steps_of(network.blocks[-1])[-1].heads
    except ValueError as error:
        raise OptionError("heads", error) from error
    follows = [Follow(last_layer=True, head=head) for head in range(heads)]
    return [maps_of(trained, record, follow, label, device) for follow in follows]


def load_with_attention(ckpt: Path) -> TrainedModel:
    """A checkpoint of a transformer.

    Raises:
        UserError: the checkpoint is wrong, or its model has no attention.
    """
    trained = load_trained_model(ckpt)
    if not isinstance(trained.model.network, VideoTransformer):
        family = type(trained.model).__name__
        raise OptionError("ckpt", f"{ckpt} is a {family}, which has no attention that could be drawn")
    return trained


def one_video(video: str | Path, fps: float | None = None) -> list[VideoRecord]:
    """The one video that is named.

    Raises:
        UserError: there is none, or there are several.
    """
    videos = find_videos(video, fps)
    if len(videos) > 1:
        raise UserError(f"{video}: {len(videos)} videos; attention is drawn of one")
    return unlabelled(videos, fps)


def folder_class(video: Path, trained: TrainedModel) -> str | None:
    """The name of a video's folder, if it is one of the model's classes."""
    name = video.resolve().parent.name
    return name if isinstance(trained.class_names, list) and name in trained.class_names else None


def maps_of(
    trained: TrainedModel, record: VideoRecord, follow: Follow, label: str | None, device: Device | None = None
) -> AttentionMaps:
    """Compute a transformer's attention maps for the centre view of a video, whose true class is ``label`` if known.

    Raises:
        UserError: the video cannot be read, or what is to be followed is not there.
    """
    evaluation = Evaluation(1, 1, 1, 0, device)
    seen = see(video_list(trained, [record], evaluation), record, choose_device(evaluation.device))
    network = trained.model.network
    assert isinstance(network, VideoTransformer)
    try:
        result = rollout(network.to(seen.clip.device), seen.clip, follow.token, follow.last_layer, follow.head)
    except ValueError as error:
        raise OptionError("token" if follow.token is not None else "ckpt", error) from error
    prediction = ranked_videos([record.path], result.logits.float().cpu(), trained.class_names, top=1)[0]
    return maps_over_frames(network, result, seen, titles(prediction, label, follow.words), follow.token)


def see(data: VideoDataModule, record: VideoRecord, on: torch.device) -> SeenClip:
    """The centre view of a video on a device, with the frames that it is cut from.

    Raises:
        UserError: the video cannot be read.
    """
    raw, numbers = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    clip = data.on_after_batch_transfer(raw, 0)["clip"].to(on)
    frames = record.decode(numbers)
    height, width = frames.shape[1:3]
    (box,) = data.view_type(1, data.image_size).boxes(height, width)
    share = min(1.0, LARGEST / max(height, width))
    size = [round(height * share), round(width * share)]
    scaled = F.resize(torch.from_numpy(frames.copy()).permute(0, 3, 1, 2), size, antialias=True)
    table = record.table()
    seconds = [table.seconds_at(i) for i in numbers]
    return SeenClip(record, clip, scaled.permute(0, 2, 3, 1).numpy(), _scaled(box, share, size), seconds)


def _scaled(box: Box, share: float, size: Sequence[int]) -> Box:
    """A box in frames that are scaled to a size."""
    top, left = round(box.top * share), round(box.left * share)
    return Box(top, left, min(round(box.height * share), size[0] - top), min(round(box.width * share), size[1] - left))


def label_name(record: VideoRecord, names: list[str] | dict[str, list[str]]) -> str:
    """The true class of a data set's video; of several tasks those of all."""
    if isinstance(names, dict):
        assert isinstance(record.label, tuple)
        return ", ".join(of_task[i] for of_task, i in zip(names.values(), record.label, strict=True))
    assert isinstance(record.label, int)
    return names[record.label]


def titles(prediction: RankedVideo, label: str | None, words: str) -> list[str]:
    """Predicted and true class; which video, and what is followed in it."""
    best = prediction.best
    true = "" if label is None else f"; true class: {label}"
    return [f"predicted: {best.name}, {100 * best.probability:.0f} %{true}", f"{prediction.path.name}: {words}"]


def maps_over_frames(
    network: VideoTransformer,
    result: Rollout,
    seen: SeenClip,
    lines: Sequence[str],
    start: Sequence[int] | None = None,
) -> AttentionMaps:
    """A rollout beside the frames that it is of, under the lines; the share that goes to no patch is added to them."""
    tubelets = tubelet_frames(network.embed.patches, len(seen.frames))
    pairs = sorted((frame, tubelet) for tubelet, members in enumerate(tubelets) for frame in members)
    numbers, places = [frame for frame, _ in pairs], [tubelet for _, tubelet in pairs]
    patches = result.patches.double().cpu()
    maps = patches * (patches.numel() / max(float(patches.sum()), 1e-12))
    share = f"{100 * result.other:.0f} % of it goes to tokens that are no patches, such as the class token"
    return AttentionMaps(
        seen.frames[numbers],
        seen.box,
        numbers,
        [seen.seconds[i] for i in numbers],
        maps[places].numpy(),
        places,
        brightest(maps, start),
        [*lines, *([share] if result.other >= 0.005 else [])],
    )


def brightest(maps: Tensor, start: Sequence[int] | None) -> float:
    """Largest relevance of ``(t, h, w)`` without that of the start, which keeps most of it by the residuals."""
    others = maps.clone()
    if start is not None:
        others[tuple(start)] = 0
    return max(float(others.max()), 1e-12)
