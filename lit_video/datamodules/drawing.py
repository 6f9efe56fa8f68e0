"""Painting of figures, and H.264 encoding that leaves no trace of frame order."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

SHAPES = ("disk", "ring", "bars", "cross")
Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Figure:
    """A shape in one frame: centre and radius as shares of the picture's side, angle in radians."""

    x: float
    y: float
    radius: float
    _: KW_ONLY
    angle: float = 0.0
    bright: bool = True  # whether it is brighter than the background, or darker by the same amount


Film = list[list[Figure]]  # the figures of each frame


def paint(rng: Rng, film: Film, shape: str, *, side: int, difficulty: float) -> NDArray[np.uint8]:
    """Paint a film's figures, all of one shape, on a background of another colour: ``(frames, side, side, 3)``."""
    hard = rng.uniform(0, difficulty)
    contrast = 0.4 * 10**-hard
    background = rng.uniform(contrast + 0.05, 0.95 - contrast, 3)
    offset = contrast * rng.uniform(0.85, 1.15, 3)

    # the still background: a slope of brightness, and a texture
    rows, columns = np.mgrid[0:side, 0:side].astype(float)
    slope_down, slope_across = rng.uniform(-0.1, 0.1, 2)
    slope = slope_down * (rows / side - 0.5) + slope_across * (columns / side - 0.5)
    still = background + slope[..., None]
    still += rng.uniform(0.02, 0.08) * hard * rng.standard_normal((side, side, 1))

    noise = rng.uniform(0.01, 0.02) + rng.uniform(0.02, 0.08) * hard
    pictures: list[Floats] = []
    for figures in film:
        picture = still
        for figure in figures:
            # distances from the centre, the shorter way round: what leaves at one edge enters at the opposite one
            x = (columns - figure.x * side + side / 2) % side - side / 2
            y = (rows - figure.y * side + side / 2) % side - side / 2

            # rows count downwards, so a growing angle turns clockwise
            cos = np.cos(figure.angle)
            sin = np.sin(figure.angle)
            far = signed_distance(shape, cos * x + sin * y, cos * y - sin * x, radius=np.array(figure.radius * side))
            cover = np.clip(0.5 - far, 0, 1)[..., None]  # how much of each pixel the figure covers
            colour = background + offset * (2 * figure.bright - 1)
            picture = picture * (1 - cover) + colour * cover
        pictures.append(picture + noise * rng.standard_normal(picture.shape))
    return np.asarray((np.stack(pictures).clip(0, 1) * 255).round(), dtype=np.uint8)


def signed_distance(shape: str, dx: Floats, dy: Floats, *, radius: Floats) -> Floats:
    """Return the distance of points to the shape's outline, negative inside; ``dx`` and ``dy`` are from its centre."""
    far = np.hypot(dx, dy)
    if shape == "disk":
        return np.asarray(far - radius)
    if shape == "ring":
        return np.asarray(np.abs(far - 0.8 * radius) - 0.25 * radius)
    if shape == "bars":  # two bars, one above the other
        from_bar = np.abs(np.abs(dy) - 0.6 * radius)
        return np.asarray(np.maximum(np.abs(dx) - radius, from_bar - 0.25 * radius))

    across = np.maximum(np.abs(dx) - radius, np.abs(dy) - 0.3 * radius)
    upright = np.maximum(np.abs(dy) - radius, np.abs(dx) - 0.3 * radius)
    return np.asarray(np.minimum(across, upright))


def encode(path: Path, frames: NDArray[np.uint8], fps: int, *, comment: str = "") -> None:
    """Write H.264 with intra frames only and a constant quantiser, so that frame order leaves no trace."""
    with av.open(f"file:{path}", "w", format="mp4") as container:
        container.metadata["comment"] = comment
        stream = container.add_stream("libx264", rate=fps)
        _, stream.height, stream.width, _ = frames.shape
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = 1
        stream.codec_context.thread_count = 1
        stream.options = {"qp": "16", "preset": "veryfast", "x264-params": "keyint=1:scenecut=0:sliced-threads=0"}
        for image in frames:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
