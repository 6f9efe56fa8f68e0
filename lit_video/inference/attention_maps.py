"""Attention maps of a trained model on a video: attention rollout, drawn over the video's frames."""

import os
from dataclasses import dataclass
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
from torch.nn import functional as F

from lit_video.errors import OptionError, UserError
from lit_video.inference.predict import Evaluation, load, video_list
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import rollout, tubelet_frames
from lit_video.inference.videos import find_videos
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.environment import choose_device
from lit_video.utils.figures import content_of
from lit_video.video.decoding import Frames

COLOURS = "inferno"  # perceptually uniform, also in greyscale and for the colour-blind
OPACITY = 0.65
ACROSS = 4  # frames per row
PANEL = 2.6  # width of a frame, inches
BAR_WIDTH = 1.7  # inches
BAR = "attention to a patch\n(1 = mean over the clip's patches)"


@dataclass(frozen=True)
class AttentionMaps:
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


def attention_maps(
    ckpt: str | Path, video: str | Path, device: Literal["cpu", "cuda"] | None = None, fps: float | None = None
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
    videos = find_videos(video, fps)
    if len(videos) > 1:
        raise UserError(f"{video}: {len(videos)} videos; attention is drawn for one")
    (record,), trained = videos, load(ckpt)
    model, network = trained.model.to(choose_device(device)), trained.model.network
    if not isinstance(network, VideoTransformer):
        raise OptionError("ckpt", f"{ckpt} is a {type(model).__name__}, which has no attention that could be drawn")
    folder, names = Path(os.path.abspath(record.path)).parent.name, trained.class_names
    data = video_list(trained, [record], Evaluation(1, 1, 1, 0, device))
    raw, numbers = data.centre_view(record)
    if raw["broken"][0]:
        raise UserError(raw["broken"][0])
    try:
        result = rollout(network, data.normalise(raw)["clip"].to(next(network.parameters()).device))
    except ValueError as error:
        raise UserError(str(error)) from error
    (ranked,) = ranked_videos([record.path], result.logits.float().cpu(), names, 1, model.several_labels)
    first = [*ranked.ranked.values()][-1][0]  # with several tasks: the most probable combination
    lines = [f"predicted: {first.name}, {100 * first.probability:.0f} %"]
    if isinstance(names, list) and folder in names:
        lines[0] += f"; true class: {folder}"
    lines.append(f"{record.path.name}: attention rollout from the output")
    if result.other >= 0.005:
        lines.append(f"{100 * result.other:.0f} % goes to tokens that are no patches, such as the class token")
    if trained.saw([record]) == [True]:
        lines.append("the model was trained on this video")
    tubelets: dict[int, int] = {}  # frame -> tubelet, for the frames that the model uses
    for tubelet, members in enumerate(tubelet_frames(network.embed.patches, len(numbers))):
        tubelets |= dict.fromkeys(members, tubelet)
    shown, of_frames = [*tubelets], [*tubelets.values()]
    seconds = [record.table().seconds_at(numbers[frame]) for frame in shown]
    patches = result.patches.double().cpu()
    maps = (patches * (patches.numel() / max(float(patches.sum()), 1e-12))).numpy()[of_frames]
    frames = record.decode(numbers)[shown]
    (box,) = data.view(1).boxes(*frames.shape[1:3])
    crop = frames[:, box.top : box.top + box.height, box.left : box.left + box.width]
    return AttentionMaps(crop, shown, seconds, maps, of_frames, lines)


def overlaid(attention: AttentionMaps, top: float) -> Frames:
    """Draw maps over grey frames; a relevance of ``top`` or more is brightest."""
    size, grey = attention.frames.shape[1:3], attention.frames.mean(-1, keepdims=True) / 255
    maps = torch.from_numpy(attention.maps)[:, None]
    smooth = F.interpolate(maps, size=size, mode="bilinear", align_corners=False)[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]
    return np.round(255 * (OPACITY * heat + (1 - OPACITY) * grey)).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """Draw a PNG: rows of frames, below each row the same frames with their maps, and a colour bar."""
    top = max(float(attention.maps.max()), 1e-12)
    count, height, width = attention.frames.shape[:3]
    across = min(count, ACROSS)
    rows = 2 * ceil(count / across)
    size = (max(PANEL * across + BAR_WIDTH, 6.0), rows * (PANEL * height / width + 0.15) + 1)  # room for a title
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False)
    for i, (frame, map_over) in enumerate(zip(attention.frames, overlaid(attention, top), strict=True)):
        row, column = 2 * (i // across), i % across
        axes[row, column].imshow(frame)
        axes[row, column].set_title(attention.label(i), fontsize=8, pad=2)
        axes[row + 1, column].imshow(map_over)
    for panel in axes.flat:
        panel.axis("off")
    figure.suptitle("\n".join(fill(line, int(12 * size[0])) for line in attention.lines), fontsize=10)
    bar = figure.colorbar(ScalarMappable(Normalize(0, top), COLOURS), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return content_of(figure)
