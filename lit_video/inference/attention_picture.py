"""Picture of attention maps: frames, and the patches of each in one scale of colours for all pictures."""

from collections.abc import Sequence
from math import ceil
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lit_video.utils.figures import content_of
from lit_video.video.decoding import Frames

MOST = 4.0  # full colours stand for MOST times an even share, and for 1 / MOST of it
BAR_TICKS = {1 / 4: "1/4 or less", 1 / 2: "1/2", 1: "1 = even", 2: "2", 4: "4 or more"}
LESS, MORE = "#1d6fd8", "#ff7a00"  # blue and orange, told apart by the colour-blind
BAR_GROUND = 0.5  # brightness of the grey under the colours of the colour bar
GREYS = (0.3, 0.9)  # brightness of black and white under the colours, which a black ground would swallow
OPACITY = 0.85  # opacity of a full colour; an even share is transparent
ACROSS = 4  # frames per row
PANEL = 2.6  # width of a frame, inches
BAR_WIDTH = 1.7  # inches
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
    rows = 2 * ceil(count / across)

    figure_width = max(PANEL * across + BAR_WIDTH, 6.0)
    figure_height = rows * (PANEL * height / width + 0.15) + 1  # room for a title
    figure = Figure(figsize=(figure_width, figure_height), layout="compressed")
    axes = figure.subplots(rows, across, squeeze=False)
    for i, (frame, overlaid) in enumerate(zip(frames, overlay_maps(frames, maps), strict=True)):
        row = 2 * (i // across)
        column = i % across
        axes[row, column].imshow(frame)
        axes[row, column].set_title(labels[i], fontsize=11, pad=2)
        axes[row + 1, column].imshow(overlaid, interpolation="nearest")
        _draw_borders(axes[row + 1, column], maps[i].shape, (height, width))
    for panel in axes.flat:
        panel.axis("off")

    letters = int(10 * figure_width)
    figure.suptitle("\n".join(fill(line, letters) for line in title), fontsize=12)
    colours = ListedColormap(_tinted(np.linspace(-1, 1, 255), np.array([BAR_GROUND])))  # the maps', over a grey frame
    bar = figure.colorbar(ScalarMappable(LogNorm(1 / MOST, MOST), colours), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=11)
    bar.set_ticks(list(BAR_TICKS), labels=list(BAR_TICKS.values()), minor=False)
    bar.ax.minorticks_off()
    bar.ax.axhline(1, color="black", linewidth=1)
    bar.ax.tick_params(labelsize=11)
    return content_of(figure)


def overlay_maps(frames: Frames, maps: NDArray[np.float64]) -> Frames:
    """Colour the patches of grey frames: orange for more than an even share, blue for less, nothing for an even one."""
    height, width = frames.shape[1:3]
    rows = np.arange(height) * maps.shape[1] // height
    columns = np.arange(width) * maps.shape[2] // width
    # on a logarithmic scale from -1 (1 / MOST or less) over 0 (even) to 1 (MOST or more)
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
