"""Picture of an attention scheme: which patches one patch sees, in comparison with other schemes."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from lit_video.schemes.sight import Sight
from lit_video.utils.colours import LIGHT
from lit_video.utils.figures import content_of

NEVER = "#eceff2"
_WIDTH, _TEXT = 6.4, 11.5  # inches and points: on a telephone, whose page has 360 pixels for them, text has 9
_LETTERS = 80  # letters of a line of words


def sight_picture(title: str, sights: Mapping[str, Sight], words: Mapping[str, str]) -> bytes:
    """Draw a PNG with a row for each scheme: the number of layers after which one patch sees the others.

    ``sights`` maps names of schemes to sights of equal grid and depth; ``words`` describes the first scheme.
    """
    first = next(iter(sights.values()))
    depth = len(first.layers)
    frames = first.grid.t
    shades = mpl.colormaps["viridis"](np.linspace(0.1, 0.95, depth))
    colours = np.array([mpl.colors.to_rgba(NEVER), *shades])  # by the number of layers, 0 for never

    lines = [fill(f"{key}: {text}", _LETTERS, subsequent_indent="    ") for key, text in words.items()]
    words_high = 0.3 + 0.2 * sum(line.count("\n") + 1 for line in lines)  # inches
    strips_high = 0.75 * len(sights) + 1.6
    figure = Figure(figsize=(_WIDTH, strips_high + words_high), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[strips_high, words_high])
    strips, below = parts

    axes = strips.subplots(len(sights), frames, squeeze=False)
    for row, (name, seen) in zip(axes, sights.items(), strict=True):
        _strip(row, seen, colours)
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=_TEXT)
    for t, panel in enumerate(axes[0]):
        panel.set_title(f"{t}", fontsize=_TEXT)

    legend = [Patch(color=shade, label=f"after {layer} of {depth} layers") for layer, shade in enumerate(shades, 1)]
    legend.append(Patch(facecolor=NEVER, edgecolor=LIGHT["rule"], label="never"))
    strips.suptitle("patches that the outlined patch sees, by frame", fontsize=_TEXT)
    strips.legend(handles=legend, loc="outside lower center", ncols=2, fontsize=_TEXT, frameon=False)

    below.text(0.02, 0.95, "\n".join(lines), fontsize=_TEXT - 1, va="top", color=LIGHT["ink"])
    figure.suptitle(title, fontsize=13, fontweight="bold")
    return content_of(figure)


def _strip(row: Any, seen: Sight, colours: Any) -> None:
    """Draw a clip's frames; a patch's colour is the number of layers after which the middle patch sees it."""
    t = seen.grid.t // 2
    h = seen.grid.h // 2 - 1
    w = seen.grid.w // 2 - 1
    middle = seen.patches.view(seen.grid)[t, h, w]
    maps = seen.depths[middle, seen.patches].view(seen.grid).numpy()
    for frame, panel in zip(maps, row, strict=True):
        panel.imshow(colours[frame])
        panel.set(xticks=[], yticks=[])
    for colour, width in (("white", 3.5), ("black", 1.2)):  # stands out from any colour
        row[t].add_patch(Rectangle((w - 0.5, h - 0.5), 1, 1, fill=False, edgecolor=colour, linewidth=width))
