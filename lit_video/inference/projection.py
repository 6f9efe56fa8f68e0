"""Project features into the plane, by t-SNE or UMAP, and draw them by class."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import load_trained_model
from lit_video.inference.options import Evaluation
from lit_video.inference.predict import Paths, VideoOutputs, compute, find_videos, unlabelled
from lit_video.utils.figures import content_of, plt, short

Method = Literal["tsne", "umap"]
FEWEST = 5  # with fewer points neither method shows anything
PERPLEXITY, NEIGHBOURS = 30.0, 15  # the methods' defaults


@dataclass(frozen=True)
class Embedding(VideoOutputs):
    """Features of videos, and their places in the plane.

    Args:
        places: points in the plane, one for each of ``paths``: ``(videos, 2)``, neighbours near each other.
    """

    places: NDArray[np.float64]


def embed(
    ckpt: str | Path, videos: Paths, method: Method = "tsne", seed: int = 0, evaluation: Evaluation | None = None
) -> Embedding:
    """Project the features of the classifier's last layer into the plane.

    Args:
        ckpt: a run's ``last.ckpt``.
        videos: files, folders (all videos below them) and patterns, at least five videos.
        method: UMAP is an extra, see :func:`project`.
        seed: seed of t-SNE or UMAP.
        evaluation: views, batches and device; ``None`` for the defaults.

    Raises:
        UserError: an argument or the checkpoint is wrong, or there are too few videos that can be read.
        ImportError: UMAP is not installed.
    """
    if method not in (methods := get_args(Method)):
        raise OptionError("method", f"is {method}, expected {' or '.join(methods)}")
    evaluation = evaluation or Evaluation()
    paths = find_videos(videos, evaluation.fps)
    require_enough(len(paths), "found")
    outputs = compute(load_trained_model(Path(ckpt)), unlabelled(paths, evaluation.fps), evaluation)
    require_enough(len(outputs.paths), "could be read")
    return Embedding(**vars(outputs), places=project(outputs.features.numpy(), method, seed))


def require_enough(count: int, what: str) -> None:
    """Refuse too few videos.

    Raises:
        UserError: fewer than five.
    """
    if count < FEWEST:
        videos = "1 video" if count == 1 else f"{count} videos"
        raise UserError(f"{videos} {what}, which is too few to show neighbours; give at least {FEWEST}")


def project(features: NDArray[Any], method: Method = "tsne", seed: int = 0) -> NDArray[np.float64]:
    """Places of ``features (n, d)`` in the plane, ``(n, 2)``, neighbours near each other.

    Source: t-SNE, JMLR 9 (2008), van der Maaten and Hinton; UMAP, arXiv:1802.03426.

    Raises:
        ValueError: fewer than five features.
        ImportError: UMAP is not installed.
    """
    count = len(features)
    if count < FEWEST:
        raise ValueError(f"{count} videos are too few to show neighbours, at least {FEWEST} are needed")
    if method == "umap":
        from umap import UMAP

        near = min(NEIGHBOURS, count - 1)
        start = "spectral" if count > NEIGHBOURS else "random"
        fitted = UMAP(n_neighbors=near, init=start, random_state=seed, n_jobs=1).fit_transform(features)
    else:
        from sklearn.manifold import TSNE

        start = "pca" if features.shape[1] > 1 else "random"
        fitted = TSNE(perplexity=perplexity(count), init=start, random_state=seed).fit_transform(features)
    return np.asarray(fitted, np.float64)


def perplexity(count: int) -> float:
    """30, or a third of the neighbours that there are: what t-SNE takes for a point's neighbourhood."""
    return min(PERPLEXITY, (count - 1) / 3)


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
