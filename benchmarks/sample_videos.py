"""Synthetic videos for benchmarks: panning and drifting textures, encoded as the data sets are."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import av
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Kind:
    """An encoding of a data set's videos; sizes in pixels."""

    name: str
    suffix: str
    width: int
    height: int
    num_frames: int
    fps: int
    codec: Literal["libx264", "libvpx-vp9", "mpeg4", "mjpeg"]
    options: dict[str, str]
    pixels: str = "yuv420p"


def _h264(name: str, width: int, height: int, gop: int) -> Kind:
    options = {"preset": "medium", "crf": "22", "g": str(gop)}
    return Kind(name, ".mp4", width, height, 250, 25, "libx264", options)


KINDS = (
    _h264("h264-gop250", 340, 256, 250),
    _h264("h264-gop12", 340, 256, 12),
    _h264("h264-720p", 1280, 720, 250),
    Kind("vp9-ssv2", ".webm", 340, 256, 65, 12, "libvpx-vp9", {"crf": "36", "b": "0", "cpu-used": "4", "g": "128"}),
    # quick to decode: UCF101 and HMDB51 are MPEG-4 (XviD, whose key frames are at most 300 apart), some cameras' JPEG
    Kind("mpeg4-ucf101", ".avi", 320, 240, 180, 25, "mpeg4", {"q": "4", "g": "300"}),
    Kind("mpeg4-gop12", ".avi", 320, 240, 180, 25, "mpeg4", {"q": "4", "g": "12"}),
    Kind("mjpeg", ".avi", 340, 256, 100, 25, "mjpeg", {"q": "3"}, "yuvj420p"),
)


def make_videos(root: Path, each: int, kinds: tuple[Kind, ...] = KINDS) -> None:
    """Write ``each`` videos of every kind as ``root/KIND/N.SUFFIX``; skip files that exist."""
    for kind in kinds:
        folder = root / kind.name
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(each):
            path = folder / f"{i}{kind.suffix}"
            if not path.exists():
                print(f"making {path}", file=sys.stderr, flush=True)
                partial = path.with_name(f".part{path.suffix}")
                encode(partial, kind, seed=i)
                partial.rename(path)


def encode(path: Path, kind: Kind, seed: int) -> None:
    """Write one video."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(kind.codec, rate=kind.fps)
        stream.width, stream.height, stream.pix_fmt = kind.width, kind.height, kind.pixels
        stream.options = dict(kind.options)
        for i, picture in enumerate(render(kind, seed)):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, kind.fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def render(kind: Kind, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Yield pictures ``(height, width, 3)``: a background and patches, each swaying by fractions of pixels.

    Fractional motion makes B frames cost bits, as in recordings; motion by whole pixels is predicted for free.
    """
    rng = np.random.default_rng(seed)
    height, width = kind.height, kind.width
    layers = [_texture(rng, 2 * height, 2 * width)]
    layers += [_texture(rng, round(rng.uniform(0.4, 0.8) * height), round(0.6 * height)) for _ in range(6)]
    sways = rng.uniform(0.05, 0.5, (7, 2)), rng.uniform(0, 6.28, (7, 2))
    corners = rng.uniform(0, 0.7, (7, 2)) * (height, width)
    for i in range(kind.num_frames):
        sway = 0.5 + 0.5 * np.sin(sways[0] * i / kind.fps + sways[1])
        picture = np.empty((height, width, 3), dtype=np.float32)
        for layer, share, corner in zip(layers, sway, corners, strict=True):
            size = np.array(layer.shape[:2])
            shown = np.minimum(size // 2, (height, width))
            window = _window(layer, share * (size - shown - 1), shown)
            top, left = (0, 0) if layer is layers[0] else corner.astype(int)
            target = picture[top : top + shown[0], left : left + shown[1]]
            target[:] = window[: target.shape[0], : target.shape[1]]
        yield np.clip(picture, 0, 255).astype(np.uint8)


def _window(layer: NDArray[np.float32], offset: NDArray[np.float64], shape: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return a part of a layer at a fractional offset, by bilinear interpolation."""
    (top, left), (y, x) = offset.astype(int), (offset % 1).astype(np.float32)
    part = layer[top : top + shape[0] + 1, left : left + shape[1] + 1]
    rows = part[:-1] + y * (part[1:] - part[:-1])
    return np.asarray(rows[:, :-1] + x * (rows[:, 1:] - rows[:, :-1]))


def _texture(rng: np.random.Generator, height: int, width: int) -> NDArray[np.float32]:
    """Return noise of several grain sizes, the coarsest strongest, as in photographs."""
    picture = np.full((height, width, 3), 128, dtype=np.float32)
    for grain, strength in ((64, 40), (16, 20), (4, 4)):
        coarse = rng.normal(0, strength, (height // grain + 2, width // grain + 2, 3))
        fine = np.repeat(np.repeat(coarse, grain, 0), grain, 1)[:height, :width]
        picture += fine.astype(np.float32)
    return picture
