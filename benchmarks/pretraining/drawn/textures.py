"""Textures of drawn videos: periodic grey fields of ten families, and their colours."""

from collections.abc import Sequence
from colorsys import hsv_to_rgb
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.drawing import Rng

Pixels = NDArray[np.float32]

TEXTURES = (
    *("flat", "gradient", "stripes", "checks", "dots"),
    *("clouds", "marble", "camouflage", "rings", "speckle"),
)
HUES = ("red", "orange", "yellow green", "green", "cyan", "blue", "violet", "pink")
WAVES = 6  # highest spatial frequency of clouds, in cycles per tile


def texture(rng: Rng, family: str, side: int) -> Pixels:
    """Draw a periodic field ``(side, side)`` with values from 0 to 1."""
    if family == "flat":
        return np.full((side, side), 0.5, np.float32)
    if family == "speckle":
        return rng.random((side, side), np.float32)
    if family in ("clouds", "marble", "camouflage"):
        return _cloudy(rng, family, side)

    places = np.arange(side, dtype=np.float32) / side * np.float32(2 * np.pi)
    if family == "gradient":
        first, second = np.asarray(rng.uniform(0, 2 * np.pi, 2), np.float32)
        return np.float32(0.5) + np.float32(0.25) * (np.sin(places + first)[:, None] + np.sin(places + second))
    if family == "rings":
        centre = np.asarray(rng.uniform(0, 2 * np.pi, 2), np.float32)
        far = np.cos(places - centre[0])[:, None] + np.cos(places - centre[1])
        return _edged(np.sin(np.float32(rng.uniform(2.5, 6)) * far), 2)

    down, across = rng.integers(1, 5, 2)
    rows = np.sin(places * np.float32(down))[:, None]
    columns = np.sin(places * np.float32(across))
    if family == "checks":
        return _edged(rows * columns, 8)
    if family == "dots":
        return _edged(rows + columns - np.float32(0.7), 5)
    slope = int(rng.integers(-4, 5))
    return _edged(np.sin(places[:, None] * np.float32(slope) + places * np.float32(across)), 3)


def coloured(field: Pixels, colours: Pixels) -> Pixels:
    """Return a picture ``(3, ...)`` that goes from the first colour to the second, where the field goes from 0 to 1.

    Shape: ``colours (2, 3)``.
    """
    shape = (3, *[1] * field.ndim)
    return colours[0].reshape(shape) + (colours[1] - colours[0]).reshape(shape) * field


def two_colours(rng: Rng, hue: int) -> Pixels:
    """Draw two colours ``(2, 3)`` of the same hue, a number in ``HUES``; they differ in brightness."""
    tone = (hue + rng.uniform(-0.3, 0.3)) / len(HUES)
    saturation = rng.uniform(0.3, 0.95)
    bright = rng.uniform(0.55, 1.0)
    dark = bright * rng.uniform(0.25, 0.65)
    colours = [hsv_to_rgb(tone, saturation, bright), hsv_to_rgb(tone, saturation * rng.uniform(0.5, 1), dark)]
    if rng.random() < 0.5:
        colours.reverse()
    return np.array(colours, np.float32)


def away_from(rng: Rng, tones: Sequence[float]) -> Pixels:
    """Draw two pale colours ``(2, 3)`` whose brightness differs from each of the actor's one or two tones, 0 to 1."""
    bright = rng.uniform(0.1, 0.9)
    if min(abs(bright - tone) for tone in tones) < 0.25:
        bright = sum(tones) / len(tones)
        if len(tones) == 1:
            bright += 0.4 if bright < 0.5 else -0.4
    middle = np.float32(bright) + np.float32(0.1) * rng.standard_normal(3, np.float32)
    spread = np.float32(rng.uniform(0.03, 0.2)) + np.float32(0.04) * rng.standard_normal(3, np.float32)
    return np.stack([middle - spread, middle + spread]).clip(0, 1)


def _cloudy(rng: Rng, family: str, side: int) -> Pixels:
    """Draw noise whose amplitude falls with its frequency: clouds, or these folded into veins or cut into patches."""
    waves, falloff = _waves(side)
    size = falloff.shape
    spectrum = (rng.standard_normal(size, np.float32) + 1j * rng.standard_normal(size, np.float32)) * falloff
    field = (waves @ spectrum @ waves.T).real
    noise: Pixels = np.asarray(field / np.float32(field.std()), np.float32)
    if family == "marble":
        return _edged(np.sin(np.float32(rng.uniform(2, 5)) * noise), 1)
    return _edged(noise, 5 if family == "camouflage" else 0.7)


@lru_cache(maxsize=8)
def _waves(side: int) -> tuple[NDArray[np.complex64], Pixels]:
    """Return complex waves at each place, ``(side, frequencies)``, and the amplitude of each pair of frequencies."""
    frequencies = np.arange(-WAVES, WAVES + 1)
    waves = np.exp(2j * np.pi * np.outer(np.arange(side) / side, frequencies)).astype(np.complex64)
    far = np.hypot(frequencies[:, None], frequencies)
    falloff = np.where(far > 0, np.maximum(far, 1) ** -1.6, 0)
    return waves, falloff.astype(np.float32)


def _edged(field: Pixels, sharpness: float) -> Pixels:
    """Return a field from 0 to 1 with its edges sharpened, so that more of it is near 0 or 1."""
    return np.asarray(np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(sharpness) * field), np.float32)
