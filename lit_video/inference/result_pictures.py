"""Figures of results: confusions, learning curves, accuracies by row and by group, features in two dimensions."""

import math
from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.tables.rendering import GroupAccuracies, reach_text
from lit_video.utils.colours import LIGHT, SERIES
from lit_video.utils.figures import short
from lit_video.utils.text import natural

CurvePoints = Sequence[tuple[float, float]]  # epoch, value

INK = LIGHT["ink"]
QUIET = LIGHT["quiet"]
RULE = LIGHT["rule"]
FIRST_COLOUR = LIGHT["s0"]
ON_FIRST_COLOUR = "#fefefe"  # a white that is not in LIGHT, because dark pages replace the colours of LIGHT
STYLE: dict[Any, Any] = {"font.size": 9, "text.parse_math": False}  # a class's name may hold a dollar sign
STYLE |= dict.fromkeys(("text.color", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor"), INK)
STYLE |= dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), QUIET)
TITLE_WIDTH = 44  # letters of a title's line, at least; of a wider picture more, so that none is mostly title
DARK_CELL = 0.8  # share above which a cell's number is white: there both stand out equally
NAMED_SIDE = 7.0  # least side of a cell that shows class names, in points
NUMBERED_SIDE = 20.0  # least side of a cell that shows numbers, in points
MANY_CLASSES = 32  # beyond it cells are small, so opacity is the root of the share to keep faint ones visible
MARKS = "osD^vPX<>"
FEWEST_POINTS = 5  # t-SNE shows nothing of fewer
PERPLEXITY = 30.0  # t-SNE's size of a neighbourhood
# a picture as wide as a phone's page, in inches and points, and the letters of a name in its legend of two columns
PHONE_WIDTH = 5.0
PHONE_TEXT = 10.0
LETTERS_OF_NAME = 22


def style_of(number: int) -> dict[str, Any]:
    """Return the colour and the mark of a series by its number; the first 72 differ."""
    colour = LIGHT[SERIES[number % len(SERIES)]]
    mark = MARKS[number % len(MARKS)]
    return {"color": colour, "marker": mark, "markersize": 4}


@matplotlib.rc_context(STYLE)
def confusion_figure(
    counts: NDArray[np.int64], classes: Sequence[str], title: str = "", *, side: float = 3.0
) -> Figure:
    """Draw videos by true class (rows) and predicted class (columns), coloured by share of the true class.

    ``counts`` are ``(classes, classes)``; a class without a video stays blank. ``side`` of the matrix is in inches.
    """
    figure, axes = _axes(side, side, title)
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    _cells(axes, np.sqrt(shares) if len(classes) > MANY_CLASSES else shares)

    cell = 72 * side / len(classes)
    if cell >= NUMBERED_SIDE:
        _numbers(axes, shares, np.where(counts, counts.astype(str), ""))
    if cell < NAMED_SIDE:
        classes = []
    _names(axes, [short(name, 24) for name in classes], min(9.0, 0.8 * cell), rotation=90)
    axes.set(xlabel="taken for", ylabel="class")
    return figure


@matplotlib.rc_context(STYLE)
def curves_figure(
    quantity: str, lines: Mapping[str, tuple[CurvePoints, Sequence[CurvePoints]]], names: Sequence[str]
) -> Figure:
    """Draw a quantity over optimizer steps: each row's mean with markers, its seeds as thin lines.

    ``names`` lists all rows in the order of colours.
    """
    figure, axes = _axes(4.6, 2.7, "")
    for name, (mean, seeds) in lines.items():
        style = style_of(names.index(name))
        for curve in seeds:
            axes.plot(*zip(*curve, strict=True), color=style["color"], linewidth=0.7, alpha=0.45)
        axes.plot(*zip(*mean, strict=True), label=short(name, 48), **style)

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set(xlabel="optimizer steps", ylabel=quantity)
    # below the curves, so that a page has room for two panels side by side
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.18), frameon=False)
    axes.grid(color=RULE, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


@matplotlib.rc_context(STYLE)
def rows_figure(names: Sequence[str], sides: Mapping[str, Sequence[tuple[int, float, float]]]) -> Figure:
    """Draw the accuracy of rows and its deviation over seeds, in percent, for ``paper`` and ``ours`` in ``sides``."""
    figure = Figure(figsize=(2.4 * len(sides), 0.26 * len(names) + 0.2))
    for i, (side, values) in enumerate(sides.items()):
        axes = figure.add_axes((1.06 * i / len(sides), 0, 0.94 / len(sides), 1))
        rows, accuracies, deviations = zip(*values, strict=True)
        filled = FIRST_COLOUR if side == "ours" else "none"
        axes.errorbar(
            accuracies, rows, xerr=deviations, fmt="o", color=FIRST_COLOUR, markerfacecolor=filled, markersize=6
        )

        labels = [short(name, 48) for name in names] if i == 0 else []
        axes.set(ylim=(len(names) - 0.5, -0.5), xlabel=f"{side} (%)")
        axes.set_yticks(range(len(names)), labels, parse_math=False)
        axes.tick_params(left=False)
        axes.grid(color=RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


@matplotlib.rc_context(STYLE)
def heat_map(groups: GroupAccuracies, title: str = "") -> Figure:
    """Draw accuracies by row and group as a heat map, white at the floor; row labels include the temporal reach.

    The last lines hold the floors of two neighbouring frames and of a sum over frames, where some are known.
    """
    names = []
    values = []
    for row, accuracies in groups.rows:
        parts = (row.label, reach_text(row))
        names.append(" | ".join(part for part in parts if part))
        values.append(accuracies)
    for floor in groups.floor_rows:
        names.append(floor.label)
        values.append(floor.accuracies)

    figure, axes = _axes(0.38 * len(groups.names), 0.26 * len(names), title)
    percent = np.array(values, np.float64)  # NaN for None
    shares = np.nan_to_num((percent - groups.floor) / (100 - groups.floor)).clip(0, 1)
    texts = np.char.replace(np.char.mod("%.0f", percent), "nan", "")
    _cells(axes, shares)
    _numbers(axes, shares, texts)
    _names(axes, names, 9.0, columns=groups.names, rotation=45, ha="left", rotation_mode="anchor")
    axes.tick_params(labeltop=True, labelbottom=False)
    return figure


def _axes(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """Return a figure of this size in inches, and axes that fill it; save with ``bbox_inches="tight"`` to keep text."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_title(fill(title, max(TITLE_WIDTH, int(12 * width))), loc="left", fontsize=10, pad=10)
    return figure, axes


def _cells(axes: Axes, opacity: NDArray[np.floating]) -> None:
    colour = np.broadcast_to(to_rgb(FIRST_COLOUR), (*opacity.shape, 3))
    image = np.concatenate([colour, opacity[..., None]], axis=-1)
    axes.imshow(image, interpolation="none", aspect="auto")


def _numbers(axes: Axes, shares: NDArray[np.floating], texts: NDArray[np.str_]) -> None:
    colours = np.where(shares > DARK_CELL, ON_FIRST_COLOUR, INK)
    for i, j in np.argwhere(texts != ""):
        axes.text(j, i, str(texts[i, j]), ha="center", va="center", color=str(colours[i, j]), fontsize=8)


def _names(axes: Axes, rows: Sequence[str], size: float, *, columns: Sequence[str] = (), **style: Any) -> None:
    """Label rows and columns; columns take the names of the rows by default."""
    columns = columns or rows
    axes.set_yticks(range(len(rows)), rows, fontsize=size, parse_math=False)
    axes.set_xticks(range(len(columns)), columns, fontsize=size, parse_math=False, **style)
    axes.tick_params(left=False, bottom=False, top=False)


def project(features: NDArray[np.floating], seed: int = 0) -> NDArray[np.float64]:
    """Project features ``(videos, width)`` to points ``(videos, 2)``, so that neighbours stay close.

    Source: t-SNE, van der Maaten and Hinton, JMLR 9 (2008).
    """
    from sklearn.manifold import TSNE  # imported late: it sets variables for OpenMP

    if len(features) < FEWEST_POINTS:
        raise UserError(f"{len(features)} videos could be read, which is too few to show neighbours")
    if not np.ptp(features, axis=0).any():
        raise UserError(f"the features of all {len(features)} videos are equal: copies, or a model that has collapsed")
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    points = TSNE(perplexity=perplexity, init="random", random_state=seed).fit_transform(features)
    return np.asarray(points, np.float64)


def points_figure(points: NDArray[np.float64], classes: Sequence[str], hollow: Sequence[bool], *, title: str) -> Figure:
    """Draw points ``(videos, 2)`` with a colour and marker for each class, unfilled where ``hollow`` is true."""
    class_of = np.array(classes)
    unfilled = np.array(hollow)

    names = sorted(set(classes), key=natural)
    lines = math.ceil(len(names) / 2)
    figure = Figure(figsize=(PHONE_WIDTH, PHONE_WIDTH + 0.21 * lines), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(names):
        members = class_of == name
        style = style_of(number)
        axes.plot(*points[members & ~unfilled].T, linestyle="", label=short(name, LETTERS_OF_NAME), **style)
        axes.plot(*points[members & unfilled].T, linestyle="", fillstyle="none", **style)

    axes.set(xticks=[], yticks=[])
    axes.set_title(fill(title, TITLE_WIDTH), fontsize=PHONE_TEXT)
    figure.legend(loc="outside lower center", ncols=2, fontsize=PHONE_TEXT, frameon=False)
    return figure
