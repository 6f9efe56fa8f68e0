"""Attention maps drawn over frames, as one figure or as an animation."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from textwrap import fill
from typing import Any

import av
import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import FigureBase
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from lit_video.inference.overlay import blend, overlay
from lit_video.utils.figures import content_of, plt
from lit_video.utils.text import clock
from lit_video.video.crops import Box
from lit_video.video.encoding import Pixels, h264_stream, video_frame

COLOURS = "inferno"  # perceptually uniform, also in grey and to the colour-blind
OPACITY = 0.65
ACROSS = 4  # frames in a row
PANEL = 2.6  # inches that a frame is wide
BAR_WIDTH = 1.7  # inches
HEADS_SHOW, VIDEOS_SHOW = 8, 4  # frames beside heads, and of each of several videos
SIDE = 224  # at least, of moving pictures in pixels
OUTLINE = "#56b4e9"
BAR = "attention to a patch\n(1 = mean over the clip's patches)"


@dataclass(frozen=True)
class AttentionMaps:
    """Frames of a clip and the relevance of their patches.

    Args:
        frames: frames of the video, ``(n, height, width, 3)``.
        box: part of the frames that the model sees.
        numbers: their places in the clip.
        seconds: when they are shown in the video.
        maps: relevance of every patch of these frames, ``(n, rows, columns)``, over the box; the mean over all patches
            of the clip is 1.
        tubelets: place in the model's grid of every frame; frames of a tubelet have one map.
        top: relevance of the brightest colour, above 0.
        lines: title and subtitles.
    """

    frames: Pixels
    box: Box
    numbers: list[int]
    seconds: list[float]
    maps: NDArray[np.float64]
    tubelets: list[int]
    top: float
    lines: list[str]

    @property
    def is_cropped(self) -> bool:
        """Whether the model sees a part of the frames only."""
        return (self.box.height, self.box.width) != self.frames.shape[1:3]

    def label(self, i: int) -> str:
        """Which frame, or which tubelet, and when it is shown."""
        grouped = len(set(self.tubelets)) < len(self.frames)
        return (f"tubelet {self.tubelets[i]}" if grouped else f"frame {self.numbers[i]}") + (
            f", {clock(self.seconds[i], 1)}"
        )


def overlaid(attention: AttentionMaps) -> Pixels:
    """Draw the maps over grey frames; relevance of ``top`` and more is brightest, unseen parts are dark."""
    box, grey = attention.box, attention.frames.mean(-1, keepdims=True) / 255
    smooth = F.interpolate(
        torch.from_numpy(attention.maps)[:, None], size=(box.height, box.width), mode="bilinear", align_corners=False
    )[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / attention.top)[..., :3]
    over = np.repeat((1 - OPACITY) * grey, 3, axis=-1)
    inside = np.s_[:, box.top : box.top + box.height, box.left : box.left + box.width]
    over[inside] += OPACITY * heat
    return np.round(255 * over).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """A PNG: frames in rows, below each row the same frames with their maps; a bar says what colours mean."""
    across = min(len(attention.frames), ACROSS)
    figure = _figure(across, _height(attention, across))
    _draw(figure, attention, range(len(attention.frames)), across)
    return content_of(figure)


def pictures_of(videos: Sequence[AttentionMaps], title: str) -> bytes:
    """A PNG of several videos below each other, a row of frames of each."""
    chosen = [_some(len(one.frames), VIDEOS_SHOW) for one in videos]
    across = max(map(len, chosen))
    heights = [_height(one, across, len(some)) for one, some in zip(videos, chosen, strict=True)]
    figure = _figure(across, sum(heights) + 0.4)
    parts: Any = figure.subfigures(len(videos), 1, squeeze=False, height_ratios=heights)
    for part, one, some in zip(parts[:, 0], videos, chosen, strict=True):
        _draw(part, one, some, across)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    return content_of(figure)


def heads_picture(heads: Sequence[AttentionMaps]) -> bytes:
    """A PNG: a row of frames, and below it a row of maps of each head, all on one scale."""
    first, some = heads[0], _some(len(heads[0].frames), HEADS_SHOW)
    shape = first.frames.shape[1] / first.frames.shape[2]
    side = PANEL * ACROSS / len(some)
    figure = _figure(ACROSS, side * shape * (1 + len(heads)) + 1.3)
    axes: Any = figure.subplots(1 + len(heads), len(some), squeeze=False)
    top = max(one.top for one in heads)
    for column, i in enumerate(some):
        axes[0, column].set_title(first.label(i), fontsize=8, pad=2)
        _show(axes[0, column], first.frames[i], first)
    for row, one in enumerate(heads, 1):
        over = overlaid(replace(one, top=top))
        for column, i in enumerate(some):
            _show(axes[row, column], over[i], one)
        axes[row, 0].text(-0.04, 0.5, f"head {row - 1}", transform=axes[row, 0].transAxes, ha="right", va="center")
    _bar(figure, axes, top)
    words = first.lines[1].replace("head 0", "each head")
    _title(figure, [first.lines[0], words], first, ACROSS)
    return content_of(figure)


def _figure(across: int, height: float) -> Any:
    layout = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02, hspace=0, wspace=0)
    return plt.figure(figsize=(_width(across), height), layout=layout)


def _width(across: int) -> float:
    """Inches of so many frames in a row and the bar, and at least what a title takes."""
    return max(PANEL * across + BAR_WIDTH, 6.0)


def _height(attention: AttentionMaps, across: int, frames: int | None = None) -> float:
    """Inches that a video takes: its frames twice, their labels, its title."""
    rows = -(-(frames or len(attention.frames)) // across)
    return (
        rows * (2 * PANEL * attention.frames.shape[1] / attention.frames.shape[2] + 0.25)
        + 0.3
        + 0.2 * len(attention.lines)
    )


def _some(count: int, most: int) -> list[int]:
    """At most so many of ``count``, evenly spread."""
    shown = min(count, most)
    return [(2 * i + 1) * count // (2 * shown) for i in range(shown)]


def _draw(figure: FigureBase, attention: AttentionMaps, some: Sequence[int], across: int) -> None:
    over, down = overlaid(attention), -(-len(some) // across)
    axes: Any = figure.subplots(2 * down, across, squeeze=False)
    for panel in axes.flat:
        panel.axis("off")
    for place, i in enumerate(some):
        row, column = 2 * (place // across), place % across
        axes[row, column].set_title(attention.label(i), fontsize=8, pad=2)
        _show(axes[row, column], attention.frames[i], attention)
        _show(axes[row + 1, column], over[i], attention)
    _bar(figure, axes, attention.top, attention.maps.max() > 1.001 * attention.top)
    _title(figure, attention.lines, attention, across)


def _title(figure: Any, lines: Sequence[str], attention: AttentionMaps, across: int) -> None:
    letters = int(12 * _width(across))
    figure.suptitle("\n".join(fill(line, letters) for line in [*lines, *outlined(attention)]), fontsize=10)


def outlined(attention: AttentionMaps) -> list[str]:
    """Legend of the outline, if there is one."""
    return ["outlined: what the model sees of the frame"] if attention.is_cropped else []


def _show(panel: Axes, image: Pixels, attention: AttentionMaps) -> None:
    """A frame with the outline of what the model sees of it."""
    panel.axis("off")
    panel.imshow(image)
    if attention.is_cropped:
        box = attention.box
        corner, size = (box.left - 0.5, box.top - 0.5), (box.width, box.height)
        panel.add_patch(Rectangle(corner, *size, fill=False, edgecolor=OUTLINE, linewidth=1.5, clip_on=False))


def _bar(figure: FigureBase, axes: Any, top: float, cut: bool = False) -> None:
    colours = ScalarMappable(Normalize(0, top), COLOURS)
    bar = figure.colorbar(colours, ax=axes, shrink=0.8, aspect=30, extend="max" if cut else "neither")
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)


def moving(attention: AttentionMaps) -> list[Pixels]:
    """Each frame beside itself with its map, enlarged where it is small, above a band with the lines."""
    times = -(-SIDE // min(attention.frames.shape[1:3]))
    sides = [each.repeat(times, 1).repeat(times, 2) for each in (attention.frames, overlaid(attention))]
    if attention.is_cropped:
        for side in sides:
            _outline(side, Box(*(times * x for x in attention.box)))
    pairs = np.concatenate(sides, axis=2)
    height, width = pairs.shape[1:3]
    scale = f"brightest: {attention.top:.2g} times the mean over the clip's patches"
    text = overlay(width, height, [*attention.lines, scale, *outlined(attention)])
    rows = len(text) + (height + len(text)) % 2  # videos like even sizes
    band = blend(np.zeros((rows, width, 3), np.uint8), text)
    return [np.concatenate((pair, band)) for pair in pairs]


def _outline(frames: Pixels, box: Box) -> None:
    """Draw a box into frames, two pixels wide."""
    colour = np.round(255 * np.array(to_rgb(OUTLINE))).astype(np.uint8)
    bottom, right = box.top + box.height, box.left + box.width
    for edge in (slice(box.top, box.top + 2), slice(bottom - 2, bottom)):
        frames[:, edge, box.left : right] = colour
    for edge in (slice(box.left, box.left + 2), slice(right - 2, right)):
        frames[:, box.top : bottom, edge] = colour


RATE = 4  # pictures a second


def encoded(images: Sequence[Pixels], ending: str) -> bytes:
    """RGB pictures of one size as the content of a ``.gif`` or ``.mp4``, which shows ``RATE`` of them a second."""
    return _gif(images) if ending == ".gif" else _mp4(images)


def _gif(images: Sequence[Pixels]) -> bytes:
    content = io.BytesIO()
    first, *others = [Image.fromarray(image) for image in images]
    first.save(content, format="GIF", save_all=True, append_images=others, duration=1000 // RATE, loop=0)
    return content.getvalue()


def _mp4(images: Sequence[Pixels]) -> bytes:
    content = io.BytesIO()
    base = Fraction(1, RATE)
    with av.open(content, "w", format="mp4") as container:
        stream = h264_stream(container, images[0], base, Fraction(RATE))
        for i, image in enumerate(images):
            container.mux(stream.encode(video_frame(image, stream, i, base)))
        container.mux(stream.encode())
    return content.getvalue()
