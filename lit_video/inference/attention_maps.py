"""Attention maps of a trained model on a video: attention rollout over the video's frames."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchvision.transforms.v2 import functional as F

from lit_video.datamodules import VideoDataModule
from lit_video.errors import OptionError, UserError
from lit_video.inference.attention_picture import AttentionMaps
from lit_video.inference.loading import load
from lit_video.inference.predict import Evaluation, find_videos, own_folder, video_list
from lit_video.inference.ranking import ClassNames, best, ranked_videos
from lit_video.inference.rollout import heads_of, rollout, tubelet_frames
from lit_video.modules import VideoClassifier
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.video.clips import VideoRecord
from lit_video.video.crops import Box

LARGEST = 480  # pixels of the longer side of a frame that is drawn
Device = Literal["cpu", "cuda"]


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    device: Device | None = None,
    fps: float | None = None,
    heads: bool = False,
) -> AttentionMaps:
    """Compute attention maps of a trained model for the centre view of a video.

    Args:
        ckpt: see :func:`~lit_video.inference.loading.load`.
        video: its file; its true class is the name of its folder, if there is such a class.
        device: ``None`` for a GPU where there is one.
        fps: frames per second of a folder of pictures, given as the video.
        heads: maps of every head of the last layer as well.

    Raises:
        UserError: there is no such video, or there are several; the checkpoint is wrong or its model has no attention.
    """
    videos = find_videos(video, fps)
    if len(videos) > 1:
        raise UserError(f"{video}: {len(videos)} videos; attention is drawn of one")
    (record,), trained = videos, load(ckpt)
    if not isinstance(trained.model.network, VideoTransformer):
        family = type(trained.model).__name__
        raise OptionError("ckpt", f"{ckpt} is a {family}, which has no attention that could be drawn")
    folder, names = own_folder(record.path), trained.class_names
    label = folder if isinstance(names, list) and folder in names else None
    data = video_list(trained, [record], Evaluation(1, 1, 1, 0, device))
    return maps_of(trained.model.to(choose_device(device)), names, data, record, label, heads)


def maps_of(
    model: VideoClassifier,
    names: ClassNames,
    data: VideoDataModule,
    record: VideoRecord,
    label: str | None,
    heads: bool = False,
) -> AttentionMaps:
    """Compute a transformer's attention maps for the centre view of a video.

    Args:
        model: on its device.
        names: its classes.
        data: how clips are made.
        record: the video.
        label: its true class, if known.
        heads: maps of every head of the last layer as well.

    Raises:
        UserError: the video cannot be read, or the network holds a layer that the rollout does not support.
    """
    network = model.network.eval()
    assert isinstance(network, VideoTransformer)
    clip, seen = see(network, data, record)
    try:
        result = rollout(network, clip)
        each = [rollout(network, clip, True, head) for head in range(heads_of(network))] if heads else []
    except ValueError as error:
        raise UserError(str(error)) from error
    (ranked,) = ranked_videos([record.path], result.logits.float().cpu(), names, 1, model.several_labels)
    first = best(ranked.ranked)
    true = "" if label is None else f"; true class: {label}"
    share = f"{100 * result.other:.0f} % of it goes to tokens that are no patches, such as the class token"
    lines = [
        f"predicted: {first.name}, {100 * first.probability:.0f} %{true}",
        f"{record.path.name}: attention rollout from the output",
        *([share] if result.other >= 0.005 else []),
    ]
    maps, *of_heads = [_relative(one.patches)[seen.tubelets] for one in (result, *each)]
    return replace(seen, maps=maps, heads=of_heads, lines=lines)


def see(network: VideoTransformer, data: VideoDataModule, record: VideoRecord) -> tuple[Tensor, AttentionMaps]:
    """The centre view of a video as the model takes it, and the frames that it is cut from, without relevance.

    Returns:
        The clip, ``(1, 3, t, height, width)``, on the network's device; the frames, scaled down if large.

    Raises:
        UserError: the video cannot be read.
    """
    raw, numbers = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    clip = data.normalise(raw)["clip"].to(next(network.parameters()).device)
    frames = record.decode(numbers)
    height, width = frames.shape[1:3]
    (box,) = data.view_type(1, data.image_size).boxes(height, width)
    share = min(1.0, LARGEST / max(height, width))
    size = [round(height * share), round(width * share)]
    scaled = F.resize(torch.from_numpy(frames.copy()).permute(0, 3, 1, 2), size, antialias=True)
    tubelets = tubelet_frames(network.embed.patches, len(frames))
    pairs = sorted((frame, tubelet) for tubelet, members in enumerate(tubelets) for frame in members)
    shown, places = [frame for frame, _ in pairs], [tubelet for _, tubelet in pairs]
    seconds = [record.table().seconds_at(numbers[i]) for i in shown]
    pixels = scaled.permute(0, 2, 3, 1).numpy()[shown]
    return clip, AttentionMaps(pixels, _scaled(box, share, size), shown, seconds, np.zeros((0, 0, 0)), places, [])


def _scaled(box: Box, share: float, size: Sequence[int]) -> Box:
    """A box in frames that are scaled to a size."""
    top, left = round(box.top * share), round(box.left * share)
    return Box(top, left, min(round(box.height * share), size[0] - top), min(round(box.width * share), size[1] - left))


def label_name(record: VideoRecord, names: ClassNames) -> str:
    """The true class of a data set's video; of several tasks those of all, of several labels each."""
    if isinstance(names, dict):
        assert isinstance(record.label, tuple)
        return ", ".join(of_task[i] for of_task, i in zip(names.values(), record.label, strict=True))
    if isinstance(record.label, tuple):
        return ", ".join(name for name, there in zip(names, record.label, strict=True) if there)
    return names[record.label]


def _relative(patches: Tensor) -> NDArray[np.float64]:
    """Relevance of patches as multiples of their mean."""
    patches = patches.double().cpu()
    return (patches * (patches.numel() / max(float(patches.sum()), 1e-12))).numpy()
