"""Projection of video features to two dimensions, and its scatter plot."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.inference.result_pictures import style_of
from lit_video.utils.figures import short
from lit_video.utils.text import natural

FEWEST_POINTS = 5  # with fewer points t-SNE shows nothing
PERPLEXITY = 30.0  # t-SNE's size of a neighbourhood
# the legend: names of one column, and columns, beside which more names make the picture higher
NAMES_IN_COLUMN = 30
MOST_COLUMNS = 4


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
    columns = min(MOST_COLUMNS, math.ceil(len(names) / NAMES_IN_COLUMN))
    lines = math.ceil(len(names) / columns)

    figure = Figure(figsize=(6.2 + 2.3 * columns, max(6, 0.3 + 0.19 * lines)), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(names):
        members = class_of == name
        style = style_of(number)
        axes.plot(*points[members & ~unfilled].T, linestyle="", label=short(name), **style)
        axes.plot(*points[members & unfilled].T, linestyle="", fillstyle="none", **style)

    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=10)
    figure.legend(loc="outside right upper", ncols=columns, fontsize=9, frameon=False)
    return figure
