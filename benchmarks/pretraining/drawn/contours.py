"""Contours of drawn shapes: those of the temporal skills, and radial ones, whose radius depends on the angle."""

from functools import lru_cache

import numpy as np

from benchmarks.pretraining.drawn.textures import Pixels
from lit_video.datamodules.drawing import SHAPES, Rng, signed_distance

RADIAL = ("triangle", "square", "star", "gear", "petals", "blob", "waves", "moon")
CONTOURS = (*SHAPES, *RADIAL)
EDGE = 1.15  # half the side of a sprite, in radii of its shape


def cover(rng: Rng, contour: str, side: int) -> Pixels:
    """Draw how much of each pixel of a sprite ``(side, side)`` a shape covers, 0 to 1."""
    x, y, far, angle = _grid(side)
    soft = np.float32(side / (2 * EDGE))  # pixels in a radius
    if contour in SHAPES:
        radius = np.array(1.0)
        outside = signed_distance(contour, x.astype(np.float64), y.astype(np.float64), radius=radius)
        return np.clip(np.float32(0.5) - np.asarray(outside, np.float32) * soft, 0, 1)

    away: Pixels
    if contour == "moon":
        bite = np.hypot(x - np.float32(rng.uniform(0.35, 0.6)), y) - np.float32(0.85)
        away = np.maximum(far - 1, -bite)
    else:
        away = far - _radius(rng, contour, angle)
    return np.clip(np.float32(0.5) - away * soft, 0, 1)


def _radius(rng: Rng, contour: str, angle: Pixels) -> Pixels:
    """Return the radius of a contour at each angle; at most 1."""
    if contour in ("triangle", "square"):
        corners = 3 if contour == "triangle" else 4
        part = np.float32(2 * np.pi / corners)
        inside = np.float32(np.cos(np.pi / corners))
        return np.asarray(inside / np.cos(angle % part - part / 2))
    if contour == "star":
        corners = int(rng.integers(4, 8))
        sharp = np.abs((angle * np.float32(corners / (2 * np.pi))) % 1 - np.float32(0.5)) * 2
        return np.asarray(np.float32(0.42) + np.float32(0.58) * sharp**2)
    if contour == "gear":
        teeth = int(rng.integers(6, 11))
        return np.asarray(np.float32(0.82) + np.float32(0.15) * np.tanh(4 * np.sin(teeth * angle)))
    if contour == "petals":
        count = int(rng.integers(3, 7))
        return np.asarray(np.float32(0.68) + np.float32(0.32) * np.cos(count * angle))

    # contours of several waves, as in VisualAtom (arXiv:2303.01112)
    orders = np.array([2, 3, 4]) if contour == "blob" else rng.choice(np.arange(3, 12), 2, replace=False)
    amplitudes = rng.uniform(0.04, 0.16, len(orders))
    phases = rng.uniform(0, 2 * np.pi, len(orders))
    radius = np.ones_like(angle)
    for order, amplitude, phase in zip(orders, amplitudes, phases, strict=True):
        radius += np.float32(amplitude) * np.cos(np.float32(order) * angle + np.float32(phase))
    return np.asarray(radius / np.float32(1 + amplitudes.sum()))


@lru_cache(maxsize=64)
def limb(side: int, thickness: float) -> Pixels:
    """Return how much of each pixel of a sprite is covered by a rounded bar as long as the sprite."""
    x, y, _, _ = _grid(side)
    half = np.float32(1 - thickness)
    away = np.hypot(np.maximum(np.abs(x) - half, 0), y) - np.float32(thickness)
    return np.clip(np.float32(0.5) - away * np.float32(side / (2 * EDGE)), 0, 1)


@lru_cache(maxsize=8)
def _grid(side: int) -> tuple[Pixels, Pixels, Pixels, Pixels]:
    """Return x, y, radius and angle of a sprite's pixels, in radii."""
    places = ((np.arange(side, dtype=np.float32) + np.float32(0.5)) / side * 2 - 1) * np.float32(EDGE)
    x, y = np.broadcast_arrays(places, places[:, None])
    return x, y, np.hypot(x, y), np.arctan2(y, x)
