"""Attention maps drawn over frames, as one figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
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
        heads: likewise, as seen by each head of the last layer alone, if it was asked for.
    """

    frames: Frames
    box: Box
    numbers: list[int]
    seconds: list[float]
    maps: NDArray[np.float64]
    tubelets: list[int]
    lines: list[str]
    heads: Sequence[NDArray[np.float64]] = ()

    @property
    def is_cropped(self) -> bool:
        """Whether the model sees a part of the frames only."""
        return (self.box.height, self.box.width) != self.frames.shape[1:3]

    def label(self, i: int) -> str:
        """Which frame, or which tubelet, and when it is shown."""
        grouped = len(set(self.tubelets)) < len(self.frames)
        place = f"tubelet {self.tubelets[i]}" if grouped else f"frame {self.numbers[i]}"
        return f"{place}, {clock(self.seconds[i], 1)}"


def overlaid(attention: AttentionMaps, maps: NDArray[np.float64], top: float) -> Frames:
    """Draw maps over grey frames; relevance of ``top`` and more is brightest, unseen parts are dark."""
    box, grey = attention.box, attention.frames.mean(-1, keepdims=True) / 255
    smooth = F.interpolate(
        torch.from_numpy(maps)[:, None], size=(box.height, box.width), mode="bilinear", align_corners=False
    )[:, 0]
    heat = mpl.colormaps[COLOURS](smooth.numpy() / top)[..., :3]
    over = np.repeat((1 - OPACITY) * grey, 3, axis=-1)
    inside = np.s_[:, box.top : box.top + box.height, box.left : box.left + box.width]
    over[inside] += OPACITY * heat
    return np.round(255 * over).astype(np.uint8)


def picture(attention: AttentionMaps) -> bytes:
    """A PNG: rows of frames, below each the same frames with their maps; a bar says what colours mean.

    With heads there is one row of some frames, and below it one of each kind of maps, on one scale.
    """
    kinds = [attention.maps, *attention.heads]
    top = max(*(float(maps.max()) for maps in kinds), 1e-12)
    count, across = len(attention.frames), min(len(attention.frames), ACROSS)
    shown = [(2 * i + 1) * count // (2 * across) for i in range(across)] if attention.heads else range(count)
    layers = [attention.frames, *(overlaid(attention, maps, top) for maps in kinds)]
    rows = [(layer, shown[i : i + across]) for i in range(0, len(shown), across) for layer in range(len(layers))]
    height, width = attention.frames.shape[1:3]
    size = (max(PANEL * across + BAR_WIDTH, 6.0), len(rows) * (PANEL * height / width + 0.15) + 1)  # room for a title
    figure, axes = plt.subplots(len(rows), across, squeeze=False, figsize=size, layout="constrained")
    for panels, (layer, places) in zip(axes, rows, strict=True):
        for panel, i in zip(panels, places, strict=False):
            panel.imshow(layers[layer][i])
            if not layer:
                panel.set_title(attention.label(i), fontsize=8, pad=2)
            if attention.is_cropped:
                box = attention.box
                corner = (box.left - 0.5, box.top - 0.5)
                panel.add_patch(Rectangle(corner, box.width, box.height, fill=False, edgecolor=OUTLINE, linewidth=1.5))
        if attention.heads and layer:
            name = f"head {layer - 2} of the last layer" if layer > 1 else "all layers"
            panels[0].set_title(name, fontsize=8, pad=2, loc="left")
    for panel in axes.flat:
        panel.axis("off")
    lines = [*attention.lines, *(["outlined: what the model sees of the frame"] if attention.is_cropped else [])]
    figure.suptitle("\n".join(fill(line, int(12 * size[0])) for line in lines), fontsize=10)
    bar = figure.colorbar(ScalarMappable(Normalize(0, top), COLOURS), ax=axes, shrink=0.8, aspect=30)
    bar.set_label(BAR, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return content_of(figure)
