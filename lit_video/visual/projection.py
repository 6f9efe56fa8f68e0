"""Features brought into the plane: t-SNE and UMAP, repeatable, and fitted to small sets."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Method = Literal["tsne", "umap"]
FEWEST = 5  # with fewer points neither method says anything
PERPLEXITY, NEIGHBOURS = 30.0, 15  # the methods' usual numbers


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
