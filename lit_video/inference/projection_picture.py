"""Points of the plane, coloured by class."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lit_video.utils.figures import content_of, plt, short

# Okabe and Ito's colours, which differ to the colour-blind; without their yellow, which does not show on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">")  # 7 and 9 have no common divisor: 63 pairs
NAMED = 20  # classes in the legend


def style_of(number: int) -> tuple[str, str]:
    """Colour and marker of a class, which differ from those of the classes next to it."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def scatter(places: NDArray[np.float64], classes: Sequence[str], title: str, ending: str) -> bytes:
    """The figure: places ``(n, 2)`` by class; beyond the ``NAMED`` classes with most videos they are grey.

    ``ending`` is png, svg or pdf.
    """
    counts = Counter(classes)
    named = sorted(sorted(counts, key=lambda name: (-counts[name], name))[:NAMED])
    figure, axes = plt.subplots(figsize=(8.5, 6), layout="constrained")
    size = float(np.clip(8000 / len(places), 16, 60))
    of = np.array(classes)
    others = ~np.isin(of, named)
    if others.any():
        label = f"{len(counts) - len(named)} other classes"
        axes.scatter(places[others, 0], places[others, 1], s=0.6 * size, c="#bbbbbb", marker=".", label=label)
    for number, name in enumerate(named):
        colour, marker = style_of(number)
        x, y = places[of == name].T
        axes.scatter(x, y, s=size, c=colour, marker=marker, label=short(name), linewidths=0.25, edgecolors="white")
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(title, fontsize=10)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", fontsize=9, frameon=False, markerscale=(50 / size) ** 0.5)
    return content_of(figure, ending)
