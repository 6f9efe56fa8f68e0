"""Attention maps drawn over frames: a figure with all of them, or pictures that follow each other."""

import io
from dataclasses import dataclass
from textwrap import fill

import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.layout_engine import ConstrainedLayoutEngine
from numpy.typing import NDArray

from lit_video.inference.overlay import blend, overlay
from lit_video.utils.figures import plt
from lit_video.video.encoding import Pixels

COLOURS = "inferno"  # perceptually uniform, also in grey and to the colour-blind
OPACITY = 0.65
ACROSS = 8  # frames in a row
SIDE = 224  # at least, of moving pictures in pixels
BAR = "relevance (1 = even over all patches)"


@dataclass(frozen=True)
class AttentionMaps:
    """Frames of a clip, and what the model attends to in them.

    Args:
        frames: of the clip that the model sees, ``(n, height, width, 3)``.
        numbers: their places in the clip.
        maps: relevance of every patch of these frames, ``(n, rows, columns)``; 1 is an even share.
        tubelets: place in the model's grid of every frame; frames of a tubelet have one map.
        top: relevance of the brightest colour, above 0.
        lines: title and subtitle.
    """

    frames: Pixels
    numbers: list[int]
    maps: NDArray[np.float64]
    tubelets: list[int]
    top: float
    lines: list[str]


def overlaid(frames: Pixels, maps: NDArray[np.float64], top: float) -> Pixels:
    """Maps ``(n, rows, columns)`` over the frames ``(n, height, width, 3)`` in grey; ``top`` and more is brightest."""
    size = frames.shape[1:3]
    smooth = F.interpolate(torch.from_numpy(maps)[:, None], size=size, mode="bilinear", align_corners=False)[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]
    grey = frames.mean(-1, keepdims=True) / 255
    return np.round(255 * (OPACITY * heat + (1 - OPACITY) * grey)).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """A PNG: frames in rows, below each row the same frames with their maps; a bar says what colours mean."""
    count, over = len(attention.frames), overlaid(attention.frames, attention.maps, attention.top)
    across = min(count, ACROSS)
    down = -(-count // across)
    width = max(1.5 * across + 1.5, 6.0)
    size, layout = (width, 3.1 * down + 0.7), ConstrainedLayoutEngine(h_pad=0.02, w_pad=0.02, hspace=0, wspace=0)
    figure, axes = plt.subplots(2 * down, across, figsize=size, layout=layout, squeeze=False)
    for panel in axes.flat:
        panel.axis("off")
    grouped = len(set(attention.tubelets)) < count
    for i, number in enumerate(attention.numbers):
        row, column = 2 * (i // across), i % across
        label = f"frame {number}" + (f", tubelet {attention.tubelets[i]}" if grouped else "")
        axes[row, column].set_title(label, fontsize=8, pad=2)
        axes[row, column].imshow(attention.frames[i], interpolation="nearest")
        axes[row + 1, column].imshow(over[i], interpolation="nearest")
    cut = "max" if attention.maps.max() > 1.001 * attention.top else "neither"
    colours = ScalarMappable(Normalize(0, attention.top), COLOURS)
    bar = figure.colorbar(colours, ax=axes, shrink=0.8, aspect=30, extend=cut)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    figure.suptitle("\n".join(fill(line, int(11 * width)) for line in attention.lines), fontsize=10)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150)
    plt.close(figure)
    return content.getvalue()


def moving(attention: AttentionMaps) -> list[Pixels]:
    """Each frame beside itself with its map, enlarged where it is small, above a band with the lines."""
    times = -(-SIDE // min(attention.frames.shape[1:3]))
    over = overlaid(attention.frames, attention.maps, attention.top)
    pairs = np.concatenate((attention.frames, over), axis=2).repeat(times, 1).repeat(times, 2)
    height, width = pairs.shape[1:3]
    text = overlay(width, height, attention.lines)
    rows = len(text) + (height + len(text)) % 2  # videos like even sizes
    band = blend(np.zeros((rows, width, 3), np.uint8), text)
    return [np.concatenate((pair, band)) for pair in pairs]
