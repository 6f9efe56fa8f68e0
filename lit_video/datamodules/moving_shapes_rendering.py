"""Pictures of moving shapes: a shape drifting over a torus, or growing."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.drawing import Colour, around, distance

HEIGHT, WIDTH = 36, 48
MOTIONS = ("left", "right")
ZOOMS = ("shrinking", "growing")
SHORTEST = 14 / 12  # seconds: the fewest frames at the lowest rate


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
    dx = around(columns - scene.x - scene.speed * time, WIDTH)
    dy = around(rows - scene.y - scene.speed * scene.slope * time, HEIGHT)
    radius = scene.radius * (1 + scene.growth * np.linspace(-1, 1, scene.frames)[:, None, None])
    cover = np.clip(0.5 - distance(scene.shape, dx, dy, radius), 0, 1)[..., None]
    frames = still * (1 - cover) + np.array(scene.foreground) * cover
    frames += scene.noise * rng.standard_normal(frames.shape)
    return np.asarray((frames.clip(0, 1) * 255).round(), dtype=np.uint8)
