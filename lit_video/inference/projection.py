"""Features brought into the plane: t-SNE and UMAP, repeatable, and fitted to small sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import OptionError, UserError
from lit_video.inference.checkpoints import load_trained_model
from lit_video.inference.options import Evaluation
from lit_video.inference.predict import Paths, VideoOutputs, compute, find_videos, unlabelled

Method = Literal["tsne", "umap"]
FEWEST = 5  # with fewer points neither method shows anything
PERPLEXITY, NEIGHBOURS = 30.0, 15  # the methods' defaults


@dataclass(frozen=True)
class Embedding(VideoOutputs):
    """Features of videos, and their places in the plane.

    Args:
        places: of each of ``paths``, ``(videos, 2)``, neighbours near each other.
    """

    places: NDArray[np.float64]


def embed(
    ckpt: str | Path, videos: Paths, method: Method = "tsne", seed: int = 0, evaluation: Evaluation | None = None
) -> Embedding:
    """Bring what enters the classifier's last layer into the plane.

    Args:
        ckpt: a run's ``last.ckpt``.
        videos: files, folders (all videos below them) and patterns, at least five videos.
        method: UMAP is an extra, see :func:`project`.
        seed: of the method.
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
