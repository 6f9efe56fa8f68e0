"""Pictures of the embedded data set: a shape drifting over a torus, and its H.264 encoding."""

from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 36, 48
SHAPES = ("disk", "ring", "bars", "cross")
MOTIONS = ("left", "right")
ZOOMS = ("shrinking", "growing")
SHORTEST = 14 / 12  # seconds: the fewest frames at the lowest rate
Colour = tuple[float, float, float]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scene:
    """Everything that a video shows; lengths in pixels, times in seconds, colours and noise from 0 to 1."""

    seed: int
    shape: str
    x: float
    y: float
    speed: float
    slope: float
    radius: float
    foreground: Colour
    background: Colour
    gradient: tuple[float, float]
    texture: float
    noise: float
    fps: int
    frames: int
    growth: float = 0.0


def draw_scene(seed: int, shape: str, difficulty: float, zoom: bool = False) -> Scene:
    """Draw a scene; ``difficulty`` 0 to 1 raises noise and texture and lowers contrast and size, linearly.

    With ``zoom`` the shape stays in its place and grows, by a ``growth`` of its radius on either side of the middle.
    """
    rng = np.random.default_rng(seed)
    fps = int(rng.choice([12, 15, 20, 25, 30]))
    # the shape is brighter than the background, by at least the contrast in every channel
    contrast = 0.5 - 0.2 * difficulty
    background = rng.uniform(0, 0.9 - contrast, 3)
    foreground = rng.uniform(background + contrast, 1)
    scene = Scene(
        seed=seed,
        shape=shape,
        x=rng.uniform(0, WIDTH),
        y=rng.uniform(0, HEIGHT),
        speed=rng.uniform(20, 40),
        slope=rng.uniform(-0.4, 0.4),
        radius=rng.uniform(6.5, 8.5) - difficulty,
        foreground=tuple(foreground.tolist()),
        background=tuple(background.tolist()),
        gradient=(rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)),
        texture=rng.uniform(0, 0.08) * 2 * difficulty,
        noise=rng.uniform(0.01, 0.03) + rng.uniform(0, 0.06) * difficulty,
        fps=fps,
        frames=round(fps * rng.uniform(1.2, 2.0)),
    )
    return replace(scene, speed=0.0, growth=rng.uniform(0.4, 0.6)) if zoom else scene


def render(scene: Scene) -> NDArray[np.uint8]:
    """Frames of a scene, moving right or growing: ``(frames, height, width, 3)``."""
    rng = np.random.default_rng(scene.seed + 1)
    rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    ramp = scene.gradient[0] * (rows / HEIGHT - 0.5) + scene.gradient[1] * (columns / WIDTH - 0.5)
    still = np.array(scene.background) + ramp[..., None] + scene.texture * rng.standard_normal((HEIGHT, WIDTH, 1))
    time = np.arange(scene.frames)[:, None, None] / scene.fps
    dx = _around(columns - scene.x - scene.speed * time, WIDTH)
    dy = _around(rows - scene.y - scene.speed * scene.slope * time, HEIGHT)
    radius = scene.radius * (1 + scene.growth * np.linspace(-1, 1, scene.frames)[:, None, None])
    cover = np.clip(0.5 - _distance(scene.shape, dx, dy, radius), 0, 1)[..., None]
    frames = still * (1 - cover) + np.array(scene.foreground) * cover
    frames += scene.noise * rng.standard_normal(frames.shape)
    return np.asarray((frames.clip(0, 1) * 255).round(), dtype=np.uint8)


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


def _around(offset: Floats, size: int) -> Floats:
    """Signed distance on a circle of this circumference."""
    return np.asarray((offset + size / 2) % size - size / 2)


def _distance(shape: str, dx: Floats, dy: Floats, radius: Floats) -> Floats:
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
