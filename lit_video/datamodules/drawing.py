"""What the embedded data sets draw with: shapes, and H.264 files in which order leaves no trace."""

from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

SHAPES = ("disk", "ring", "bars", "cross")
Colour = tuple[float, float, float]
Floats = NDArray[np.float64]


def around(offset: Floats, size: int) -> Floats:
    """Signed distance on a circle of this circumference."""
    return np.asarray((offset + size / 2) % size - size / 2)


def distance(shape: str, dx: Floats, dy: Floats, radius: Floats) -> Floats:
    """Signed distance to the shape's outline, negative inside."""
    far = np.hypot(dx, dy)
    if shape == "disk":
        return np.asarray(far - radius)
    if shape == "ring":
        return np.asarray(np.abs(far - 0.8 * radius) - 0.25 * radius)
    if shape == "bars":  # two, one above the other
        return np.asarray(np.maximum(np.abs(dx) - radius, np.abs(np.abs(dy) - 0.6 * radius) - 0.25 * radius))
    bars = [np.maximum(np.abs(a) - radius, np.abs(b) - 0.3 * radius) for a, b in ((dx, dy), (dy, dx))]
    return np.asarray(np.minimum(*bars))


def encode(path: Path, frames: NDArray[np.uint8], fps: int, comment: str = "") -> None:
    """Write H.264: every frame on its own (intra only), constant quantiser, so that order leaves no trace."""
    with av.open(str(path), "w", format="mp4") as container:
        container.metadata["comment"] = comment
        stream = container.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        stream.codec_context.gop_size = 1
        stream.codec_context.thread_count = 1
        stream.options = {"qp": "16", "preset": "veryfast", "x264-params": "keyint=1:scenecut=0:sliced-threads=0"}
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        container.mux(stream.encode())
