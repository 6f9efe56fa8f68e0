"""Attention maps of a trained model on a video: attention rollout, drawn over the video's frames."""

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Literal

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from lit_video.errors import OptionError, UserError
from lit_video.inference.predict import Evaluation, TrainedModel, load, video_list
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import Rollout, rollout, tubelet_frames
from lit_video.inference.videos import find_videos
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.utils.figures import content_of
from lit_video.utils.files import write_bytes, writing
from lit_video.utils.shown import Part, Shown
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import Frames

COLOURS = "inferno"  # perceptually uniform, also in greyscale and for the colour-blind
OPACITY = 0.65
ACROSS = 4  # frames per row
PANEL = 2.6  # width of a frame, inches
BAR_WIDTH = 1.7  # inches
BAR = "attention to a patch\n(1 = mean over the clip's patches)"


@dataclass(frozen=True, repr=False)
class AttentionMaps(Shown):
    """``n`` frames of a clip, and the relevance of their patches."""

    frames: Frames  # the model's crop at the video's resolution, (n, height, width, 3)
    numbers: list[int]  # indices of the frames in the clip
    seconds: list[float]  # timestamps of the frames in the video
    maps: NDArray[np.float64]  # relevance of every patch of these frames, (n, rows, columns); mean 1 over the clip
    tubelets: list[int]  # index of every frame's tubelet; frames of a tubelet share a map
    lines: list[str]  # title and subtitles

    def label(self, i: int) -> str:
        """Return the name and timestamp of a frame or tubelet."""
        name = f"frame {self.numbers[i]}"
        if len({*self.tubelets}) < len(self.frames):
            name = f"tubelet {self.tubelets[i]}"
        return f"{name}, {self.seconds[i]:.1f} s"

    def write(self, path: str | Path) -> Path:
        """Write the picture of the maps as ``.png``."""
        with writing("--output", Path(path)):
            write_bytes(Path(path), picture(self))
        return Path(path)

    def parts(self) -> Sequence[Part]:
        """Return title and subtitles."""
        return ["\n".join(self.lines)]

    def _repr_html_(self) -> str:
        content = b64encode(picture(self)).decode()
        return f'<img alt="{escape(self.lines[0])}" src="data:image/png;base64,{content}">'


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    device: Literal["cpu", "cuda"] | None = None,
    *,
    fps: float | None = None,
) -> AttentionMaps:
    """Compute attention maps of a trained model for the centre view of a video.

    Args:
        ckpt: see :func:`~lit_video.inference.predict.load`.
        video: path of one video; the name of its folder is taken for the true class, if the model has that class.
        device: ``None`` for a GPU if available.
        fps: frames per second, if the video is a folder of pictures.

    Raises:
        UserError: the path holds no video or several; the checkpoint is wrong, or its model has no attention.
    """
    record = _only_video(video, fps)
    trained = load(ckpt)
    model = trained.model.to(choose_device(device))
    network = model.network
    if not isinstance(network, VideoTransformer):
        raise OptionError("ckpt", f"{ckpt} is a {type(model).__name__}, which has no attention that could be drawn")

    data = video_list(trained, [record], Evaluation(clips=1, crops=1, batch=1, workers=0, device=device))
    raw, clip_frames = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])

    try:
        clip = data.normalise(raw)["clip"]
        result = rollout(network, clip.to(next(network.parameters()).device))
    except ValueError as error:
        raise UserError(str(error)) from error

    tubelet_of = _tubelets_by_frame(network, len(clip_frames))
    drawn_frames = list(tubelet_of)
    tubelets = list(tubelet_of.values())
    video_frames = [clip_frames[frame] for frame in drawn_frames]
    pixels = record.decode(clip_frames)[drawn_frames]
    return AttentionMaps(
        frames=_cropped(pixels, data.view(1)),
        numbers=drawn_frames,
        seconds=[record.table().seconds_at(frame) for frame in video_frames],
        maps=_relative_to_mean(result.patches)[tubelets],
        tubelets=tubelets,
        lines=_title(trained, record, result),
    )


def _only_video(video: str | Path, fps: float | None) -> VideoRecord:
    """Return the video at a path; refuse a folder that holds several."""
    records = find_videos(video, fps)
    if len(records) > 1:
        raise UserError(f"{video}: {len(records)} videos; attention is drawn for one")
    return records[0]


def _tubelets_by_frame(network: VideoTransformer, num_frames: int) -> dict[int, int]:
    """Return the tubelet of each frame of a clip that the network uses."""
    tubelet_of: dict[int, int] = {}
    for tubelet, frames in enumerate(tubelet_frames(network.embed.patches, num_frames)):
        for frame in frames:
            tubelet_of[frame] = tubelet
    return tubelet_of


def _relative_to_mean(patches: Tensor) -> NDArray[np.float64]:
    """Scale the relevance of patches ``(t, h, w)`` to a mean of 1."""
    relevance = patches.double().cpu()
    total = max(float(relevance.sum()), 1e-12)
    scaled: NDArray[np.float64] = (relevance * (relevance.numel() / total)).numpy()
    return scaled


def _cropped(frames: Frames, view: EvaluationViews) -> Frames:
    """Cut the crop that the model sees from frames at the video's resolution."""
    (box,) = view.boxes(*frames.shape[1:3])
    rows = slice(box.top, box.top + box.height)
    columns = slice(box.left, box.left + box.width)
    return frames[:, rows, columns]


def _title(trained: TrainedModel, record: VideoRecord, result: Rollout) -> list[str]:
    """Return the lines above the picture: the prediction, the video, and what a reader must know of the maps."""
    logits = result.logits.float().cpu()
    several_labels = trained.model.several_labels
    (video,) = ranked_videos([record.path], logits, trained.class_names, top=1, several_labels=several_labels)
    *_, most_probable = video.ranked.values()  # with several tasks, the last are combinations of their classes
    prediction = f"predicted: {most_probable[0].name}, {100 * most_probable[0].probability:.0f} %"

    folder = Path(os.path.abspath(record.path)).parent.name
    if isinstance(trained.class_names, list) and folder in trained.class_names:
        prediction += f"; true class: {folder}"

    lines = [prediction, f"{record.path.name}: attention rollout from the output"]
    if result.other >= 0.005:
        lines.append(f"{100 * result.other:.0f} % goes to tokens that are no patches, such as the class token")
    if trained.saw([record]) == [True]:
        lines.append("the model was trained on this video")
    return lines


def overlaid(attention: AttentionMaps, top: float) -> Frames:
    """Draw maps over grey frames; a relevance of ``top`` or more is brightest."""
    height_and_width = attention.frames.shape[1:3]
    maps = torch.from_numpy(attention.maps)[:, None]
    smooth = F.interpolate(maps, size=height_and_width, mode="bilinear", align_corners=False)[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]

    grey = attention.frames.mean(-1, keepdims=True) / 255
    return np.round(255 * (OPACITY * heat + (1 - OPACITY) * grey)).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """Draw a PNG: rows of frames, below each row the same frames with their maps, and a colour bar."""
    top = max(float(attention.maps.max()), 1e-12)
    count, height, width = attention.frames.shape[:3]
    across = min(count, ACROSS)
    rows = 2 * ceil(count / across)

    figure_width = max(PANEL * across + BAR_WIDTH, 6.0)
    figure_height = rows * (PANEL * height / width + 0.15) + 1  # room for a title
    figure = Figure(figsize=(figure_width, figure_height), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False)
    for i, (frame, map_over) in enumerate(zip(attention.frames, overlaid(attention, top), strict=True)):
        row = 2 * (i // across)
        column = i % across
        axes[row, column].imshow(frame)
        axes[row, column].set_title(attention.label(i), fontsize=8, pad=2)
        axes[row + 1, column].imshow(map_over)
    for panel in axes.flat:
        panel.axis("off")

    letters = int(12 * figure_width)
    figure.suptitle("\n".join(fill(line, letters) for line in attention.lines), fontsize=10)
    bar = figure.colorbar(ScalarMappable(Normalize(0, top), COLOURS), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return content_of(figure)
