"""Effects of light and camera on drawn videos: brightness, blur, noise and compression."""

from functools import lru_cache

import numpy as np

from benchmarks.pretraining.drawn.textures import Pixels
from lit_video.datamodules.drawing import Rng

BLOCK = 8  # side of the blocks of the compression, as in JPEG
NOISE = 2**18  # number of stored random values, of which each frame takes consecutive ones


def lit(rng: Rng, frames: Pixels, light: Pixels, *, strength: float) -> None:
    """Light frames ``(frames, 3, side, side)`` in place: a slope over the picture, times a brightness of each frame.

    ``light`` is the brightness of each frame, 0 to 1.
    """
    side = frames.shape[-1]
    ramp = np.linspace(-1, 1, side, dtype=np.float32)
    slopes = np.float32(0.2 * strength) * rng.uniform(-1, 1, 2).astype(np.float32)
    still = 1 + slopes[0] * ramp[:, None] + slopes[1] * ramp
    frames *= still
    frames *= (1 + np.float32(0.5 * strength) * (light - np.float32(0.5)))[:, None, None, None]


def blurred(rng: Rng, frames: Pixels, strength: float) -> None:
    """Blur some videos in place over neighbouring pixels, each frame alone."""
    share = np.float32(rng.uniform(-0.5, 0.5) * strength)
    if share <= 0:
        return
    for axis in (-1, -2):
        moved = np.roll(frames, 1, axis) + np.roll(frames, -1, axis)
        frames *= 1 - share
        frames += moved * (share / 2)


def noisy(rng: Rng, frames: Pixels, strength: float) -> None:
    """Add normal noise in place, another one to each frame."""
    deviation = np.float32(0.06 * strength * rng.random() ** 2)
    stored = _noise()
    size = frames[0].size
    if size > NOISE:
        frames += deviation * rng.standard_normal(frames.shape, np.float32)
        return
    firsts = rng.integers(0, NOISE - size + 1, len(frames))
    for frame, first in zip(frames, firsts, strict=True):
        frame += deviation * stored[first : first + size].reshape(frame.shape)


def compressed(rng: Rng, frames: Pixels, strength: float) -> Pixels:
    """Compress half of the videos as JPEG does, each frame alone; return the others as they are.

    The coefficients of blocks of 8 x 8 pixels are rounded, higher frequencies more coarsely. Sides are
    multiples of 8.
    """
    step = np.float32(rng.uniform(-1, 1) * strength)
    if step <= 0:
        return frames

    transform, coarse = _blocks()
    coefficients = _both_ways(frames, transform)
    by_block = coefficients.reshape(-1, BLOCK, frames.shape[-1] // BLOCK, BLOCK)
    steps = coarse[:, None] * (step * np.float32(0.09))

    by_block /= steps
    np.rint(by_block, out=by_block)
    by_block *= steps
    return _both_ways(coefficients, np.ascontiguousarray(transform.T))


def _both_ways(frames: Pixels, transform: Pixels) -> Pixels:
    """Return frames after a transform of 8 values of the columns, and then of the rows, of every block."""
    across = (frames.reshape(-1, BLOCK) @ transform.T).reshape(frames.shape)
    turned = np.ascontiguousarray(across.swapaxes(-1, -2))
    down = (turned.reshape(-1, BLOCK) @ transform.T).reshape(turned.shape)
    return np.ascontiguousarray(down.swapaxes(-1, -2))


@lru_cache(maxsize=1)
def _noise() -> Pixels:
    return np.random.default_rng(0).standard_normal(NOISE, np.float32)


@lru_cache(maxsize=1)
def _blocks() -> tuple[Pixels, Pixels]:
    """Return the discrete cosine transform of a block's side, and the relative step of each coefficient."""
    places = np.arange(BLOCK)
    transform = np.sqrt(2 / BLOCK) * np.cos(np.pi * (2 * places + 1) * places[:, None] / (2 * BLOCK))
    transform[0] /= np.sqrt(2)
    coarse = 1 + 0.6 * (places[:, None] + places)
    return transform.astype(np.float32), coarse.astype(np.float32)
