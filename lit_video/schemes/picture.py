"""Picture of an attention scheme: which patches one patch sees, beside other schemes, and the derivative of a layer."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from lit_video.inference.result_pictures import STYLE, draw_groups
from lit_video.schemes.cost import Cost
from lit_video.schemes.sight import Place, Sight
from lit_video.tables.rendering import Groups
from lit_video.utils.colours import LIGHT
from lit_video.utils.figures import content_of

COLOURS = "viridis"
NEVER = "#eceff2"
FAINT = 1e-4  # share of the largest derivative; less is drawn alike


def sight_picture(title: str, sights: Mapping[str, Sight], words: Mapping[str, str]) -> bytes:
    """Draw a PNG: which patches one patch sees after how many layers, by scheme; for the first also the derivative.

    ``sights`` are those of schemes by name, on one grid; ``words`` are said of the first.
    """
    first = next(iter(sights.values()))
    depth, frames = len(first.layers), first.grid.t
    figure = Figure(figsize=(14, 1.6 + 1.05 * len(sights) + 1.2), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.05 * len(sights) + 0.9, 1.2])
    bottom, (left, right) = parts[1], parts[0].subfigures(1, 2, width_ratios=[2.2, 1])
    axes = left.subplots(len(sights), frames, squeeze=False)
    for row, (name, seen) in zip(axes, sights.items(), strict=True):
        _strip(row, seen)
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    for t, panel in enumerate(axes[0]):
        panel.set_title(f"frame {t}", fontsize=8)
    shades = [mpl.colormaps[COLOURS](_shade(layer, depth)) for layer in range(1, depth + 1)]
    labels = [f"in {layer} layer{'s' * (layer > 1)}" for layer in range(1, depth + 1)]
    legend = [Patch(color=shade, label=label) for shade, label in zip(shades, labels, strict=True)]
    legend.append(Patch(facecolor=NEVER, edgecolor=LIGHT["rule"], label="never"))
    left.suptitle("patches that the outlined patch sees", fontsize=10)
    left.legend(handles=legend, loc="outside lower center", ncols=len(legend), fontsize=8, frameon=False)
    _derivative(right.subplots(), first)
    lines = [fill(f"{key}: {text}", 150, subsequent_indent="    ") for key, text in words.items()]
    bottom.text(0.02, 0.95, "\n".join(lines), fontsize=9, va="top", color=LIGHT["ink"])
    figure.suptitle(title, fontsize=13, fontweight="bold")
    return content_of(figure)


@mpl.rc_context(STYLE)
def profile_picture(title: str, groups: Groups, sight: Sight, words: Mapping[str, str], costs: Sequence[Cost]) -> bytes:
    """Draw a PNG of a scheme: accuracy in each skill above the other rows, its sight, and its cost beside others.

    Groups and costs have the scheme first; ``words`` are on its sight.
    """
    figure = Figure(figsize=(16, 9), layout="constrained")
    parts: Any = figure.subfigures(1, 2, width_ratios=[1.15, 1])
    left, right = parts
    skills = left.subplots()
    draw_groups(skills, groups)
    skills.set_title(f"accuracy in each {groups.kind} (%)", fontsize=11, pad=14)
    skills.axhline(0.5, color=LIGHT["s1"], linewidth=2)
    skills.get_yticklabels()[0].set_color(LIGHT["s1"])
    top, middle, bottom = right.subfigures(3, 1, height_ratios=[0.8, 2.2, 1.6])
    _strip(top.subplots(1, sight.grid.t), sight)
    layers = len(sight.layers)
    top.suptitle(f"patches that the outlined one sees, dark in 1 layer to bright in {layers}; grey: never", fontsize=11)
    _derivative(middle.subplots(), sight)
    _bars(bottom.subplots(1, 2, sharey=True), costs)
    figure.suptitle(f"{title}: sees {words['sees']}; reach {words['reach']}", fontsize=14)
    return content_of(figure)


def _bars(panels: Any, costs: Sequence[Cost]) -> None:
    """Draw multiply-adds and time of one layer, the scheme in the colour of its name."""
    order = sorted(costs, key=lambda one: -one.macs)
    colours = [LIGHT["s1"] if one is costs[0] else LIGHT["s0"] for one in order]
    names, macs = [one.name for one in order], [one.macs / 1e6 for one in order]
    times = [1e3 * one.seconds for one in order]
    labels = ("million multiply-adds of a layer", "ms of a training step of it")
    for panel, values, label in zip(panels, (macs, times), labels, strict=True):
        bars = panel.barh(names, values, color=colours)
        panel.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
        panel.set_title(label, fontsize=10)
        panel.set(xticks=[])
        panel.spines[["top", "right", "bottom"]].set_visible(False)


def _shade(layer: int, depth: int) -> float:
    return 0.1 + 0.85 * (layer - 1) / max(depth - 1, 1)


def _strip(row: Any, seen: Sight) -> None:
    """Draw a clip's frames, each patch coloured by the layers after which the middle one depends on it."""
    grid, depth = seen.grid, len(seen.layers)
    asking = Place(grid.t // 2, grid.h // 2 - 1, grid.w // 2 - 1)
    maps = seen.depths[list(seen.places).index(asking), seen.patches].view(grid).numpy()
    for t, panel in enumerate(row):
        colours: NDArray[Any] = mpl.colormaps[COLOURS](_shades(maps[t], depth))
        colours[maps[t] == 0] = mpl.colors.to_rgba(NEVER)
        panel.imshow(colours)
        if t == asking.t:
            corner = ((asking.w or 0) - 0.5, (asking.h or 0) - 0.5)
            panel.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=LIGHT["s1"], linewidth=2.5))
        panel.set(xticks=[], yticks=[])


def _shades(depths: NDArray[Any], depth: int) -> NDArray[Any]:
    return np.vectorize(lambda layer: _shade(int(layer), depth), otypes=[float])(depths)


def _derivative(panel: Axes, seen: Sight) -> None:
    """Size of the derivative of each patch after one layer by each before it, frame by frame."""
    sizes = seen.layers[0][seen.patches][:, seen.patches].numpy()
    image = panel.imshow(np.where(sizes > 0, sizes.clip(FAINT), np.nan), norm=LogNorm(FAINT, 1), cmap="magma")
    cells = seen.grid.h * seen.grid.w
    ticks = [cells * t + cells / 2 - 0.5 for t in range(seen.grid.t)]
    panel.set(xticks=ticks, yticks=ticks, xticklabels=range(seen.grid.t), yticklabels=range(seen.grid.t))
    for t in range(1, seen.grid.t):
        for line in (panel.axhline, panel.axvline):
            line(cells * t - 0.5, color=LIGHT["rule"], linewidth=0.4)
    panel.set_xlabel("frame of the patch before the layer", fontsize=8)
    panel.set_ylabel("frame of the patch after it", fontsize=8)
    panel.set_title("derivative of one layer, random weights\n(the largest of a row is 1; white: none)", fontsize=10)
    panel.tick_params(labelsize=8)
    panel.figure.colorbar(image, ax=panel, shrink=0.8, format="%g").ax.tick_params(labelsize=8)
