"""Drawing of the temporal skills, and H.264 encoding that leaves no trace of frame order."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from pathlib import Path
from typing import Any

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
    angle: float = 0.0
    bright: bool = True  # brighter than the background; False: darker by the same amount


Film = list[list[Figure]]  # the figures of each frame
LARGE = (0.24, 0.3)  # range of the radius for rotation and orderN


def drift(rng: Rng, frames: int) -> Film:
    """Move a shape to the right by 6 to 11 % of the picture per frame; it leaves and re-enters at the edges."""
    figure, start, step = _figure(rng), rng.uniform(0, 1), rng.uniform(0.06, 0.11)
    return _moved(figure, x=(start + step * np.arange(frames)) % 1)


def zoom(rng: Rng, frames: int) -> Film:
    """Grow a shape at a fixed point, from 1 - g to 1 + g times its radius, with a random g from 0.33 to 0.5."""
    figure, growth = _figure(rng), rng.uniform(0.33, 0.5)
    return _moved(figure, radius=figure.radius * (1 + growth * np.linspace(-1, 1, frames)))


def rotation(rng: Rng, frames: int) -> Film:
    """Turn two bars about their middle, by 10 to 25 degrees per frame, clockwise."""
    figure, step = _figure(rng, LARGE), np.deg2rad(rng.uniform(10, 25))
    return _moved(figure, angle=rng.uniform(0, np.pi) + step * np.arange(frames))


def order(rng: Rng, frames: int, apart: int) -> Film:
    """Show a bright shape in one frame, and a dark shape at the same point ``apart`` frames later."""
    bright, first = replace(_figure(rng, LARGE), bright=True), int(rng.integers(frames - apart))
    shown = {first: [bright], first + apart: [replace(bright, bright=False)]}
    return [shown.get(t, []) for t in range(frames)]


def meeting(rng: Rng, frames: int) -> Film:
    """Move two shapes towards each other, until they nearly touch."""
    one, angle = _figure(rng, radius=(0.09, 0.12), margin=0.42), rng.uniform(0, np.pi)
    away = np.linspace(rng.uniform(0.24, 0.3), 1.15 * one.radius, frames)
    dx, dy = away * np.cos(angle), away * np.sin(angle)
    other = _moved(one, x=one.x - dx, y=one.y - dy)
    return [*map(add, _moved(one, x=one.x + dx, y=one.y + dy), other)]


def duration(rng: Rng, frames: int) -> Film:
    """Show a shape for three frames, nothing for one or two, and the shape again for one frame."""
    figure, gap = _figure(rng), int(rng.integers(1, 3))
    first = int(rng.integers(frames - 3 - gap))
    shown = {first, first + 1, first + 2, first + 3 + gap}
    return [[figure] * (t in shown) for t in range(frames)]


def count(rng: Rng, frames: int) -> Film:
    """Flash n = 2 or 3 times in the first half, n + 1 times in the second; both halves are bright equally long."""
    figure, half = _figure(rng), frames // 2
    few = int(rng.integers(2, 4))
    return [[figure] * bright for bright in _flashes(rng, few, half) + _flashes(rng, few + 1, half)]


def _flashes(rng: Rng, times: int, frames: int) -> list[bool]:
    """Return for each frame whether it is bright; half of the frames are, in ``times`` flashes of random lengths."""
    bright = frames // 2
    lengths = np.diff(np.sort(rng.choice(np.arange(1, bright), times - 1, replace=False)), prepend=0, append=bright)
    gaps = np.diff(np.sort(rng.choice(np.arange(1, frames - bright + 2), times, replace=False)), prepend=0)
    shown = [False] * int(gaps[0] - 1)
    for length, gap in zip(lengths, [*gaps[1:], 0], strict=True):
        shown += [True] * int(length) + [False] * int(gap)
    return shown + [False] * (frames - len(shown))


def speed(rng: Rng, frames: int) -> Film:
    """Move a shape in any direction, faster and faster; it leaves and re-enters at the edges."""
    start, angle = _figure(rng), rng.uniform(0, 2 * np.pi)
    slow, fast = rng.uniform(0.02, 0.035), rng.uniform(0.06, 0.09)
    far = np.cumsum(np.linspace(slow, fast, frames))
    dx, dy = far * np.cos(angle), far * np.sin(angle)
    return _moved(start, x=(start.x + dx) % 1, y=(start.y + dy) % 1)


def occlusion(rng: Rng, frames: int) -> Film:
    """Move a bright and a dark shape behind a wall that looks like the background; hide the bright shape first."""
    apart = rng.uniform(0.125, 0.25) * frames
    middle = 0.5 * frames + rng.uniform(-0.1, 0.1) * frames
    rows, step = rng.permutation([0.28, 0.72]), rng.uniform(0.8, 1.0) / frames
    wall, radius = rng.uniform(0.4, 0.6), rng.uniform(0.1, 0.13)
    film: Film = [[] for _ in range(frames)]
    for bright, when, y in zip((True, False), (middle - apart / 2, middle + apart / 2), rows, strict=True):
        side = rng.choice([-1, 1])
        for t in range(frames):
            x = side * step * (t + 0.5 - when)
            if abs(x) > 0.14:
                film[t].append(Figure(float((wall + x) % 1), float(y), float(radius), bright=bright))
    return film


def _moved(figure: Figure, **values: NDArray[Any]) -> Film:
    """Return a film of one figure; ``values`` has an attribute's value for each frame."""
    frames = zip(*values.values(), strict=True)
    return [[replace(figure, **dict(zip(values, frame, strict=True)))] for frame in frames]


@dataclass(frozen=True)
class Skill:
    """A temporal skill: how to draw it, and the class names of its two directions."""

    name: str
    film: Callable[[Rng, int], Film]
    backward: str  # class of the video played backwards
    forward: str  # class of the video as drawn
    shortest: int  # fewest frames that show it


_SKILLS = (
    Skill("drift", drift, "left", "right", 2),
    Skill("zoom", zoom, "shrinking", "growing", 2),
    Skill("rotation", rotation, "counterclockwise", "clockwise", 2),
    Skill("meeting", meeting, "parting", "meeting", 2),
    Skill("duration", duration, "long last", "long first", 6),
    Skill("count", count, "more first", "more last", 16),
    Skill("speed", speed, "slowing", "speeding", 4),
    Skill("occlusion", occlusion, "dark first", "bright first", 8),
)


def skill(name: str) -> Skill:
    """Return a skill by its name: one in ``_SKILLS``, or orderN for two events N frames apart."""
    if found := re.fullmatch(r"order([1-9]\d?)", name):
        apart = int(found[1])
        return Skill(name, lambda rng, frames: order(rng, frames, apart), "dark first", "bright first", apart + 1)
    known = {one.name: one for one in _SKILLS}
    if name not in known:
        raise ValueError(f"skills has {name!r}, expected {', '.join(known)}, or order1, order2, ...")
    return known[name]


def render(
    what: Skill, seed: int, frames: int, side: int, difficulty: float, frames_per_step: int = 1
) -> NDArray[np.uint8]:
    """Draw the frames ``(frames, side, side, 3)`` of a video in forward order.

    ``side`` is in pixels; each step lasts ``frames_per_step`` frames, a divisor of ``frames``. A video's difficulty is
    random, at most ``difficulty`` (0 to 1); a higher one means more noise, more texture and less contrast.
    """
    rng = np.random.default_rng(seed)
    steps = what.film(rng, frames // frames_per_step)
    film = [steps[frame // frames_per_step] for frame in range(frames)]
    shape = "bars" if what.name == "rotation" else str(rng.choice(SHAPES))
    return paint(rng, film, shape, side, difficulty)


def paint(rng: Rng, film: Film, shape: str, side: int, difficulty: float) -> NDArray[np.uint8]:
    """Paint a film's figures, all of one shape, on a background of another colour: ``(frames, side, side, 3)``."""
    hard = rng.uniform(0, difficulty)
    contrast = 0.4 * 10**-hard
    background = rng.uniform(contrast + 0.05, 0.95 - contrast, 3)
    offset = contrast * rng.uniform(0.85, 1.15, 3)
    rows, columns = np.mgrid[0:side, 0:side].astype(float)
    slopes = rng.uniform(-0.1, 0.1, 2)
    still = background + (slopes[0] * (rows / side - 0.5) + slopes[1] * (columns / side - 0.5))[..., None]
    still += rng.uniform(0.02, 0.08) * hard * rng.standard_normal((side, side, 1))
    noise = rng.uniform(0.01, 0.02) + rng.uniform(0.02, 0.08) * hard
    pictures = []
    for figures in film:
        picture = still
        for figure in figures:
            cover = _cover(figure, shape, side)[..., None]
            picture = picture * (1 - cover) + (background + offset * (2 * figure.bright - 1)) * cover
        pictures.append(picture + noise * rng.standard_normal(picture.shape))
    return np.asarray((np.stack(pictures).clip(0, 1) * 255).round(), dtype=np.uint8)


def _figure(rng: Rng, radius: tuple[float, float] = (0.14, 0.19), margin: float = 0.3) -> Figure:
    """Return a figure of random size and position; its centre is at least ``margin`` from the edges."""
    x, y = rng.uniform(margin, 1 - margin, 2)
    return Figure(float(x), float(y), float(rng.uniform(*radius)), bright=bool(rng.integers(2)))


def _cover(figure: Figure, shape: str, side: int) -> NDArray[np.float64]:
    """Return how much of each pixel a figure covers, 0 to 1; opposite edges of the picture are joined (a torus)."""
    rows, columns = np.mgrid[0:side, 0:side].astype(float)
    # signed distances on the torus
    x = (columns - figure.x * side + side / 2) % side - side / 2
    y = (rows - figure.y * side + side / 2) % side - side / 2
    cos, sin = np.cos(figure.angle), np.sin(figure.angle)
    # rows count downwards, so a growing angle turns clockwise
    dx, dy = cos * x + sin * y, cos * y - sin * x
    return np.clip(0.5 - distance(shape, dx, dy, np.array(figure.radius * side)), 0, 1)


def distance(shape: str, dx: Floats, dy: Floats, radius: Floats) -> Floats:
    """Return the signed distance to the shape's outline, negative inside."""
    far = np.hypot(dx, dy)
    if shape == "disk":
        return np.asarray(far - radius)
    if shape == "ring":
        return np.asarray(np.abs(far - 0.8 * radius) - 0.25 * radius)
    if shape == "bars":  # two bars, one above the other
        return np.asarray(np.maximum(np.abs(dx) - radius, np.abs(np.abs(dy) - 0.6 * radius) - 0.25 * radius))
    across = np.maximum(np.abs(dx) - radius, np.abs(dy) - 0.3 * radius)
    upright = np.maximum(np.abs(dy) - radius, np.abs(dx) - 0.3 * radius)
    return np.asarray(np.minimum(across, upright))


def encode(path: Path, frames: NDArray[np.uint8], fps: int, comment: str = "") -> None:
    """Write H.264 with intra frames only and a constant quantiser, so that frame order leaves no trace."""
    with av.open(f"file:{path}", "w", format="mp4") as container:
        container.metadata["comment"] = comment
        stream = container.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        stream.codec_context.gop_size = 1
        stream.codec_context.thread_count = 1
        stream.options = {"qp": "16", "preset": "veryfast", "x264-params": "keyint=1:scenecut=0:sliced-threads=0"}
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        container.mux(stream.encode())
