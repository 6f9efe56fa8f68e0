"""Pictures of what one token reads: the patches of every frame, a row of frames per scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from torch import Tensor

from lit_video.utils.figures import plt

UNREAD = "#e4e4e4"
STEPS = ("#e69f00", "#56b4e9", "#009e73")  # Okabe and Ito's, which differ to the colour-blind
SEVERAL = "#7a4a9e"
TOKEN = "#111111"
LAYERS = ("#08519c", "#3f8fc5", "#85bcdb", "#c3daee")  # the more layers it takes, the paler
MOST_STEPS, MOST_LAYERS = len(STEPS), len(LAYERS)


def draw_steps(read: Mapping[str, Mapping[str, Tensor]], query: Sequence[int]) -> Figure:
    """What the token ``query`` (frame, row, column) reads in each attention step of one layer.

    Args:
        read: by scheme, what :func:`~lit_video.visual.receptive_field.steps_read` returns.
        query: the token, drawn black.

    Raises:
        ValueError: a scheme of more than three steps.
    """
    if any(len(steps) > MOST_STEPS for steps in read.values()):
        raise ValueError(f"there are colours for {MOST_STEPS} attention steps")
    codes = {}
    for name, steps in read.items():
        sets = np.stack([one.numpy() for one in steps.values()])
        codes[name] = np.where(sets.sum(0) > 1, MOST_STEPS + 1, (sets.argmax(0) + 1) * sets.any(0))
    legend = ["not read", "1st step", "2nd step", "3rd step", "in several steps"]
    shown = {f"{name}\n{_sizes(read[name])}": code for name, code in codes.items()}
    return _draw(shown, (UNREAD, *STEPS, SEVERAL), legend, query)


def _sizes(steps: Mapping[str, Tensor]) -> str:
    return " + ".join(str(int(one.sum())) for one in steps.values())


def draw_layers(needed: Mapping[str, Tensor], query: Sequence[int]) -> Figure:
    """After how many layers each patch has part in the token ``query`` (frame, row, column).

    Args:
        needed: by scheme, what :func:`~lit_video.visual.receptive_field.layers_needed` returns.
        query: the token, drawn black.

    Raises:
        ValueError: more than four layers.
    """
    if any(int(one.max()) > MOST_LAYERS for one in needed.values()):
        raise ValueError(f"there are colours for {MOST_LAYERS} layers")
    legend = ["in no layer", "in layer 1", *(f"through layer {n}" for n in range(2, MOST_LAYERS + 1))]
    return _draw({name: one.numpy() for name, one in needed.items()}, (UNREAD, *LAYERS), legend, query)


def _draw(
    codes: Mapping[str, NDArray[np.int64]], colours: Sequence[str], legend: Sequence[str], query: Sequence[int]
) -> Figure:
    """Grids of numbers ``(t, h, w)`` as coloured cells; the legend names the numbers that occur."""
    frames = next(iter(codes.values())).shape[0]
    size = (1.9 + 0.85 * frames, 0.6 + 0.85 * len(codes))
    figure, axes = plt.subplots(len(codes), frames, figsize=size, squeeze=False, layout="constrained")
    for panels, (name, code) in zip(axes, codes.items(), strict=True):
        panels[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9, labelpad=6)
        for frame, panel in enumerate(panels):
            _cells(panel, code[frame], colours, query[1:] if frame == query[0] else None)
    for frame, panel in enumerate(axes[0]):
        panel.set_title(f"frame {frame}", fontsize=9)
    seen = sorted({int(number) for code in codes.values() for number in np.unique(code)})
    handles = [Patch(color=TOKEN, label="the token"), *(Patch(color=colours[n], label=legend[n]) for n in seen)]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9, frameon=False)
    return figure


def _cells(panel: Axes, code: NDArray[np.int64], colours: Sequence[str], token: Sequence[int] | None) -> None:
    norm = BoundaryNorm(np.arange(len(colours) + 1) - 0.5, len(colours))
    panel.pcolormesh(code, cmap=ListedColormap(list(colours)), norm=norm, edgecolors="white", linewidth=0.6)
    if token is not None:
        panel.add_patch(Rectangle((token[1], token[0]), 1, 1, facecolor=TOKEN, edgecolor="white", linewidth=0.6))
    panel.set(aspect="equal", xticks=[], yticks=[])
    panel.invert_yaxis()
    for side in panel.spines.values():
        side.set_visible(False)
