"""Calibration of a model's probabilities."""

import numpy as np
from numpy.typing import NDArray


def calibration_error(confidence: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = 15) -> float:
    """Return the expected calibration error in percent (Guo et al., arXiv:1706.04599).

    Args:
        confidence: probability of each video's predicted class, by which videos are binned.
        hits: whether each prediction is right.
        bins: number of bins of equal width.
    """
    confidence = confidence.astype(np.float64)
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    # |mean confidence - accuracy| of each bin times its number of videos
    distances = np.abs(np.bincount(index, confidence - hits, bins))
    return 100 * float(distances.sum() / max(len(hits), 1))
