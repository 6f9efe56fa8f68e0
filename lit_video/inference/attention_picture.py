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
