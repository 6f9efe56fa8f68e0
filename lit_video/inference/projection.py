"""Project features into the plane, by t-SNE, and draw them by class."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.inference.result_pictures import style_of
from lit_video.utils.figures import content_of, short

FEWEST = 5  # with fewer points t-SNE shows nothing
PERPLEXITY = 30.0  # t-SNE's size of a neighbourhood; the default


def project(features: NDArray[Any], seed: int = 0) -> NDArray[np.float64]:
    """Project ``features (n, d)``, five or more, to points of the plane, ``(n, 2)``, neighbours near each other.

    Source: t-SNE, JMLR 9 (2008), van der Maaten and Hinton.

    Raises:
        UserError: there are too few videos, or their features are equal.
    """
    from sklearn.manifold import TSNE

    if len(features) < FEWEST:
        raise UserError(f"{len(features)} videos could be read, which is too few to show neighbours")
    if not np.ptp(features, axis=0).any():
        raise UserError(f"the features of all {len(features)} videos are equal: copies, or a model that has collapsed")
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    start = "pca" if features.shape[1] > 1 else "random"
    return np.asarray(TSNE(perplexity=perplexity, init=start, random_state=seed).fit_transform(features), np.float64)


NAMED = 20  # classes in the legend


def scatter(
    places: NDArray[np.float64], classes: Sequence[str], title: str, ending: str, hollow: Sequence[bool] = ()
) -> bytes:
    """Draw points ``(n, 2)`` by class; beyond the ``NAMED`` classes with most videos they are grey.

    ``ending`` is png, svg or pdf; ``hollow`` says which points are drawn so.
    """
    counts = Counter(classes)
    named = sorted(sorted(counts, key=lambda name: (-counts[name], name))[:NAMED])
    others = f"{len(counts) - len(named)} other classes"
    styles: dict[str, dict[str, Any]] = {}
    if len(counts) > len(named):
        styles[others] = {"color": "#bbbbbb", "marker": "."}
    styles |= {name: style_of(number) for number, name in enumerate(named)}
    shown = np.array([name if name in named else others for name in classes])
    filled = ~np.array(hollow or [False] * len(places))
    figure = Figure(figsize=(8.5, 6), layout="constrained")
    axes = figure.subplots()
    for name, style in styles.items():
        axes.plot(*places[(shown == name) & filled].T, linestyle="", label=short(name), **style)
        axes.plot(*places[(shown == name) & ~filled].T, linestyle="", fillstyle="none", **style)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(title, fontsize=10)
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    return content_of(figure, ending)
