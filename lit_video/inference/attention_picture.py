"""Attention maps drawn over frames, as one figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import FigureBase
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from lit_video.utils.figures import content_of, plt
from lit_video.utils.text import clock
from lit_video.video.crops import Box
from lit_video.video.decoding import Frames

COLOURS = "inferno"  # perceptually uniform, also in grey and to the colour-blind
OPACITY = 0.65
ACROSS = 4  # frames in a row
PANEL = 2.6  # inches that a frame is wide
BAR_WIDTH = 1.7  # inches
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
        lines: title and subtitles.
    """

    frames: Frames
    box: Box
    numbers: list[int]
    seconds: list[float]
    maps: NDArray[np.float64]
    tubelets: list[int]
    lines: list[str]

    @property
    def is_cropped(self) -> bool:
        """Whether the model sees a part of the frames only."""
        return (self.box.height, self.box.width) != self.frames.shape[1:3]

    def label(self, i: int) -> str:
        """Which frame, or which tubelet, and when it is shown."""
        grouped = len(set(self.tubelets)) < len(self.frames)
        place = f"tubelet {self.tubelets[i]}" if grouped else f"frame {self.numbers[i]}"
        return f"{place}, {clock(self.seconds[i], 1)}"


def overlaid(attention: AttentionMaps, top: float) -> Frames:
    """Draw the maps over grey frames; relevance of ``top`` and more is brightest, unseen parts are dark."""
    box, grey = attention.box, attention.frames.mean(-1, keepdims=True) / 255
    smooth = F.interpolate(
        torch.from_numpy(attention.maps)[:, None], size=(box.height, box.width), mode="bilinear", align_corners=False
    )[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]
    over = np.repeat((1 - OPACITY) * grey, 3, axis=-1)
    inside = np.s_[:, box.top : box.top + box.height, box.left : box.left + box.width]
    over[inside] += OPACITY * heat
    return np.round(255 * over).astype(np.uint8)


def picture(*parts: AttentionMaps) -> bytes:
    """A PNG: rows of frames, below each the same frames with their maps; a bar says what colours mean.

    Args:
        parts: maps of a video; or those of its heads, of four frames, which have one scale and stand above the first
            head's only.
    """
    count, top = len(parts[0].frames), max(*(float(one.maps.max()) for one in parts), 1e-12)
    few = min(count, ACROSS) if len(parts) > 1 else count
    some, across = [(2 * i + 1) * count // (2 * few) for i in range(few)], min(few, ACROSS)
    rows = [2, *[1] * (len(parts) - 1)]
    heights = [_height(one, row * -(-few // across)) for one, row in zip(parts, rows, strict=True)]
    width = max(PANEL * across + BAR_WIDTH, 6.0)  # at least what a title takes
    layout = ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02, hspace=0, wspace=0)
    figure = plt.figure(figsize=(width, sum(heights)), layout=layout)
    panels: Any = figure.subfigures(len(parts), 1, squeeze=False, height_ratios=heights)
    for part, one, row in zip(panels[:, 0], parts, rows, strict=True):
        axes = part.subplots(row * -(-few // across), across, squeeze=False)
        _draw(part, axes, one, some, row, top)
        lines = [*one.lines, *(["outlined: what the model sees of the frame"] if one.is_cropped and row == 2 else [])]
        part.suptitle("\n".join(fill(line, int(12 * width)) for line in lines), fontsize=10)
    return content_of(figure)


def _height(attention: AttentionMaps, rows: int) -> float:
    """Inches that rows of frames, their labels and the title take."""
    shape = attention.frames.shape[1] / attention.frames.shape[2]
    return rows * (PANEL * shape + 0.125) + 0.3 + 0.2 * len(attention.lines)


def _draw(figure: FigureBase, axes: Any, attention: AttentionMaps, some: Sequence[int], rows: int, top: float) -> None:
    """Draw frames above their maps, or the maps alone if there is one row for both."""
    over, across = overlaid(attention, top), axes.shape[1]
    for panel in axes.flat:
        panel.axis("off")
    for place, i in enumerate(some):
        row, column = rows * (place // across), place % across
        axes[row, column].set_title(attention.label(i), fontsize=8, pad=2)
        if rows == 2:
            _show(axes[row, column], attention.frames[i], attention)
        _show(axes[row + rows - 1, column], over[i], attention)
    bar = figure.colorbar(ScalarMappable(Normalize(0, top), COLOURS), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)


def _show(panel: Axes, image: Frames, attention: AttentionMaps) -> None:
    """A frame with the outline of what the model sees of it."""
    panel.imshow(image)
    if attention.is_cropped:
        box = attention.box
        corner, size = (box.left - 0.5, box.top - 0.5), (box.width, box.height)
        panel.add_patch(Rectangle(corner, *size, fill=False, edgecolor=OUTLINE, linewidth=1.5, clip_on=False))
