"""Attention maps of a trained model on a video: attention rollout, drawn over the video's frames."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lit_video.errors import OptionError, UserError
from lit_video.inference.predict import TrainedModel, load, video_list
from lit_video.inference.ranking import ranked_videos
from lit_video.inference.rollout import Rollout, rollout, tubelet_frames
from lit_video.inference.videos import Evaluation, find_videos
from lit_video.network.transformer import VideoTransformer
from lit_video.utils.arguments import Positive, refuse_wrong_values
from lit_video.utils.environment import choose_device
from lit_video.utils.figures import content_of
from lit_video.utils.files import write_bytes, writing
from lit_video.utils.text import Part, Shown
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import Frames

MOST = 4.0  # full colours stand for MOST times an even share, and for 1 / MOST of it
BAR_TICKS = {1 / 4: "1/4 or less", 1 / 2: "1/2", 1: "1 = even", 2: "2", 4: "4 or more"}
LESS, MORE = "#1d6fd8", "#ff7a00"  # blue and orange, told apart by the colour-blind
BAR_GROUND = 0.5  # brightness of the grey under the colours of the colour bar
GREYS = (0.3, 0.9)  # brightness of black and white under the colours, which a black ground would swallow
OPACITY = 0.85  # opacity of a full colour; an even share is transparent
ACROSS = 4  # frames per row
PANEL = 1.6  # width of a frame, inches: on a telephone, whose page has 360 pixels for four, text has 10
LEAST_WIDTH = 4.8  # inches, for the words of the colour bar
LINE, GAP, BAR_HEIGHT = 0.22, 0.08, 0.85  # inches of a line of text, between panels, and of the bar with its words
TEXT = 12  # points
BAR = "attention to a patch, in shares of an even map"
LINES_UP_TO = 24  # rows or columns of patches; lines between more would hide the frame


def attention_picture(
    frames: Frames, maps: NDArray[np.float64], labels: Sequence[str], *, title: Sequence[str]
) -> bytes:
    """Draw a PNG: rows of frames, below each row the same frames with their maps, and a colour bar.

    Args:
        frames: ``(n, height, width, 3)``.
        maps: share of every patch of these frames, ``(n, rows, columns)``; 1 is an even share.
        labels: name of each frame.
        title: lines above the picture.
    """
    count, height, width = frames.shape[:3]
    across = min(count, ACROSS)
    figure_width = max(PANEL * across, LEAST_WIDTH)
    tall = PANEL * height / width
    letters = int(10 * figure_width)
    words = "\n".join(fill(line, letters) for line in title).splitlines()
    pair = LINE + 2 * tall + GAP  # label, frame and map
    top = GAP + LINE * len(words)
    figure_height = top + pair * ceil(count / across) + BAR_HEIGHT
    figure = Figure(figsize=(figure_width, figure_height))

    def panel_at(left: float, down: float, wide: float, high: float) -> Axes:
        """Return axes at a place from the upper left corner, in inches."""
        bottom = 1 - (down + high) / figure_height
        return figure.add_axes((left / figure_width, bottom, wide / figure_width, high / figure_height))

    figure.text(0.5, 1 - GAP / 2 / figure_height, "\n".join(words), fontsize=TEXT, ha="center", va="top")
    for i, (frame, overlaid) in enumerate(zip(frames, overlay_maps(frames, maps), strict=True)):
        left = (figure_width - PANEL * across) / 2 + PANEL * (i % across) + GAP / 2
        down = top + pair * (i // across) + LINE
        for part, picture in enumerate((frame, overlaid)):
            panel = panel_at(left, down + part * tall, PANEL - GAP, tall - GAP / 2)
            panel.imshow(picture, interpolation="nearest", aspect="auto")
            panel.axis("off")
            if part == 0:
                panel.set_title(labels[i], fontsize=TEXT - 1, pad=2)
        _draw_borders(panel, maps[i].shape, (height, width))

    colours = ListedColormap(_tinted(np.linspace(-1, 1, 255), np.array([BAR_GROUND])))  # the maps', over a grey frame
    place = panel_at(0.1 * figure_width, figure_height - BAR_HEIGHT + GAP, 0.8 * figure_width, LINE)
    scale = ScalarMappable(LogNorm(1 / MOST, MOST), colours)
    bar = figure.colorbar(scale, cax=place, orientation="horizontal")
    bar.set_label(BAR, fontsize=TEXT)
    bar.set_ticks(list(BAR_TICKS), labels=list(BAR_TICKS.values()), minor=False)
    bar.ax.minorticks_off()
    bar.ax.axvline(1, color="black", linewidth=1)
    bar.ax.tick_params(labelsize=TEXT)
    return content_of(figure)


def overlay_maps(frames: Frames, maps: NDArray[np.float64]) -> Frames:
    """Colour the patches of grey frames: orange for more than an even share, blue for less, nothing for an even one."""
    height, width = frames.shape[1:3]
    rows = np.arange(height) * maps.shape[1] // height
    columns = np.arange(width) * maps.shape[2] // width
    # strengths are logarithmic: -1 for 1 / MOST or less, 0 for an even share, 1 for MOST or more
    strengths = np.log(np.clip(maps, 1 / MOST, MOST)) / np.log(MOST)
    strengths = strengths[:, rows][:, :, columns]
    darkest, lightest = GREYS
    grey = darkest + (lightest - darkest) * frames.mean(-1, keepdims=True) / 255
    return np.round(255 * _tinted(strengths, grey)).astype(np.uint8)


def range_line(maps: NDArray[np.float64]) -> str:
    """Say in words how far maps are from even."""
    low, high = float(maps.min()), float(maps.max())
    line = f"patches get {low:.2g} to {high:.2g} times an even share"
    return f"almost even: {line}" if low > 1 / 1.5 and high < 1.5 else line


def _tinted(strengths: NDArray[np.float64], grey: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay the colour of each strength over grey: the stronger, the less transparent; RGB in the last dimension."""
    colours = np.where(strengths[..., None] > 0, to_rgb(MORE), to_rgb(LESS))
    opacity = OPACITY * np.abs(strengths)[..., None]
    tinted: NDArray[np.float64] = opacity * colours + (1 - opacity) * grey
    return tinted


def _draw_borders(panel: Axes, patches: tuple[int, ...], size: tuple[int, int]) -> None:
    """Draw lines between patches, unless they are so many that the lines would hide the frame."""
    rows, columns = patches
    height, width = size
    if max(rows, columns) > LINES_UP_TO:
        return

    style: dict[str, Any] = {"color": "white", "linewidth": 0.4, "alpha": 0.5}
    for row in range(1, rows):
        panel.axhline(row * height / rows - 0.5, **style)
    for column in range(1, columns):
        panel.axvline(column * width / columns - 0.5, **style)


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
            write_bytes(Path(path), self.picture())
        return Path(path)

    def picture(self) -> bytes:
        """Return the picture of the maps as the content of a PNG file; all such pictures have one scale of colours."""
        labels = [self.label(i) for i in range(len(self.frames))]
        return attention_picture(self.frames, self.maps, labels, title=self.lines)

    def parts(self) -> Sequence[Part]:
        """Return title and subtitles."""
        return ["\n".join(self.lines)]

    def _repr_html_(self) -> str:
        content = b64encode(self.picture()).decode()
        return f'<img alt="{escape(self.lines[0])}" src="data:image/png;base64,{content}">'


def attention_maps(
    ckpt: str | Path,
    video: str | Path,
    device: Literal["cpu", "cuda"] | None = None,
    *,
    fps: Positive | None = None,
) -> AttentionMaps:
    """Compute where a trained model looks in a video.

    The maps are the attention rollout from the classifier's input back to the patches of every frame, for the centre
    view.

    Args:
        ckpt: a run's folder or checkpoint, see :func:`~lit_video.inference.predict.load`.
        video: path of one video; the name of its folder is taken for the true class, if the model has that class.
        device: device to compute on; ``None`` for a GPU if there is one.
        fps: frame rate, if the video is a folder of pictures.

    Raises:
        UserError: the path holds no video or several; the checkpoint is wrong, or its model has no attention.
    """
    refuse_wrong_values(attention_maps, locals())
    records = find_videos(video, fps)
    if len(records) > 1:
        raise UserError(f"{video}: {len(records)} videos; attention is drawn for one")

    record = records[0]
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

    drawn_frames: list[int] = []  # numbers of the frames that the network uses
    tubelets: list[int] = []
    for tubelet, frames in enumerate(tubelet_frames(network.embed.patches, len(clip_frames))):
        drawn_frames += frames
        tubelets += [tubelet] * len(frames)

    relevance = result.patches.double().cpu()
    total = max(float(relevance.sum()), 1e-12)
    maps: NDArray[np.float64] = (relevance * (relevance.numel() / total)).numpy()  # their mean is 1
    video_frames = [clip_frames[frame] for frame in drawn_frames]
    pixels = record.decode(clip_frames)[drawn_frames]
    # the crop that the model sees, at the video's resolution
    (box,) = data.view(1).boxes(*pixels.shape[1:3])
    rows = slice(box.top, box.top + box.height)
    columns = slice(box.left, box.left + box.width)
    return AttentionMaps(
        frames=pixels[:, rows, columns],
        numbers=drawn_frames,
        seconds=[record.table().seconds_at(frame) for frame in video_frames],
        maps=maps[tubelets],
        tubelets=tubelets,
        lines=[*_title(trained, record, result), range_line(maps)],
    )


def _title(trained: TrainedModel, record: VideoRecord, result: Rollout) -> list[str]:
    """Return the lines above the picture: the prediction, the video, and what a reader must know of the maps."""
    logits = result.logits.float().cpu()
    several_labels = trained.model.several_labels
    (video,) = ranked_videos([record.path], logits, trained.class_names, top=1, several_labels=several_labels)
    *_, most_probable = video.ranked.values()  # several tasks end with combinations of their classes
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
