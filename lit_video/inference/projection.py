"""Project features into the plane, by t-SNE, and draw them by class."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.inference.predict import Evaluation, TrainedModel, VideoPredictions, predict
from lit_video.inference.videos import Paths
from lit_video.utils.colours import LIGHT, SERIES
from lit_video.utils.figures import content_of, short

FEWEST = 5  # with fewer points t-SNE shows nothing
FOLDS = 5  # for kNN and the linear probe
PERPLEXITY = 30.0  # t-SNE's size of a neighbourhood; the default


@dataclass(frozen=True)
class Embedding(VideoPredictions):
    """Features of videos, and their places in the plane.

    Args:
        places: points in the plane, one for each of ``paths``: ``(videos, 2)``, neighbours near each other.
    """

    places: NDArray[np.float64]


def embed(
    ckpt: str | Path | TrainedModel, videos: Paths, seed: int = 0, evaluation: Evaluation | None = None
) -> Embedding:
    """Project the features of the classifier's last layer into the plane.

    Args:
        ckpt: see :func:`~lit_video.inference.predict.load`.
        videos: files, folders (all videos below them) and patterns, or records; at least five videos.
        seed: seed of t-SNE.
        evaluation: views, batches and device; ``None`` for the defaults.

    Raises:
        UserError: an argument or the checkpoint is wrong, or there are too few videos that can be read.
    """
    outputs = predict(ckpt, videos, 1, evaluation)
    if (count := len(outputs.paths)) < FEWEST:
        found = count + len(outputs.broken)
        raise UserError(f"{count} of {found} videos could be read, which is too few to show neighbours")
    return Embedding(**vars(outputs), places=project(outputs.features.numpy(), seed))


def probe(
    features: NDArray[Any], classes: Sequence[str], groups: Sequence[str], neighbours: int, seed: int = 0
) -> dict[str, NDArray[np.bool_]]:
    """Find which of ``features (n, d)`` kNN (cosine) and a linear probe (logistic regression) classify right.

    Each is tested once, in one of five folds; all of a group are in the same fold.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    counts = Counter(name for name, _ in set(zip(classes, groups, strict=True)))
    if len(counts) < 2 or min(counts.values()) < 2:
        few = min(counts, key=lambda name: counts[name])
        raise UserError(
            f"--knn: {len(counts)} classes, {few!r} in {counts[few]} recordings; expected 2 or more of both"
        )
    folds = StratifiedGroupKFold(min(FOLDS, *counts.values()), shuffle=True, random_state=seed)
    labels = np.array(classes)
    fewest = min(len(train) for train, _ in folds.split(features, labels, groups))
    if neighbours > fewest:
        raise UserError(f"--knn {neighbours}: a fold has {fewest} videos to compare with; give a smaller number")
    models = {
        f"kNN, k = {neighbours}": KNeighborsClassifier(neighbours, metric="cosine"),
        "linear probe": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    return {
        name: cross_val_predict(model, features, labels, groups=groups, cv=folds) == labels
        for name, model in models.items()
    }


def project(features: NDArray[Any], seed: int = 0) -> NDArray[np.float64]:
    """Project ``features (n, d)``, five or more, to points of the plane, ``(n, 2)``, neighbours near each other.

    Source: t-SNE, JMLR 9 (2008), van der Maaten and Hinton.
    """
    from sklearn.manifold import TSNE

    if not np.ptp(features, axis=0).any():
        raise UserError(f"the features of all {len(features)} videos are equal: copies, or a model that has collapsed")
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    start = "pca" if features.shape[1] > 1 else "random"
    return np.asarray(TSNE(perplexity=perplexity, init=start, random_state=seed).fit_transform(features), np.float64)


MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">")  # 8 colours and 9 markers have no common divisor: 72 pairs
NAMED = 20  # classes in the legend


def scatter(
    places: NDArray[np.float64], classes: Sequence[str], title: str, ending: str, hollow: Sequence[bool] = ()
) -> bytes:
    """Draw points ``(n, 2)`` by class; beyond the ``NAMED`` classes with most videos they are grey.

    ``ending`` is png, svg or pdf; ``hollow`` says which points are drawn so.
    """
    counts, of = Counter(classes), np.array(classes)
    named = sorted(sorted(counts, key=lambda name: (-counts[name], name))[:NAMED])
    figure = Figure(figsize=(8.5, 6), layout="constrained")
    axes = figure.subplots()
    area, filled = float(np.clip(8000 / len(places), 16, 60)), ~np.array(hollow or [False] * len(places))

    def points(chosen: NDArray[np.bool_], color: str, label: str, marker: str = "o") -> None:
        fill = [(color, "white", 0.25) if inside else ("none", color, 1.0) for inside in filled[chosen]]
        faces, edges, widths = zip(*fill, strict=True)
        style: dict[str, Any] = {"s": area, "facecolors": faces, "edgecolors": edges, "linewidths": widths}
        axes.scatter(*places[chosen].T, marker=marker, label=label, **style)

    if (others := ~np.isin(of, named)).any():
        points(others, color="#bbbbbb", label=f"{len(counts) - len(named)} other classes")
    for number, name in enumerate(named):
        colour, marker = LIGHT[SERIES[number % len(SERIES)]], MARKERS[number % len(MARKERS)]
        points(of == name, color=colour, marker=marker, label=short(name))
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(title, fontsize=10)
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    return content_of(figure, ending)
