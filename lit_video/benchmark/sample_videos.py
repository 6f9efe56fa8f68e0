"""Videos for benchmarks, made on the spot: textures that pan and drift, encoded as data sets are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from lit_video.errors import UserError


@dataclass(frozen=True)
class Kind:
    """One way in which the videos of a data set are encoded; sizes in pixels, ``gop`` in frames."""

    name: str
    suffix: str
    width: int
    height: int
    frames: int
    fps: int
    codec: str
    options: dict[str, str]


def _h264(name: str, width: int, height: int, gop: int) -> Kind:
    options = {"preset": "medium", "crf": "22", "g": str(gop)}
    return Kind(name, ".mp4", width, height, 250, 25, "libx264", options)


KINDS = (
    _h264("h264-gop250", 340, 256, 250),
    _h264("h264-gop12", 340, 256, 12),
    _h264("h264-720p", 1280, 720, 250),
    Kind("vp9-ssv2", ".webm", 340, 256, 65, 12, "libvpx-vp9", {"crf": "36", "b": "0", "cpu-used": "4", "g": "128"}),
)


def make_videos(root: Path, each: int, kinds: tuple[Kind, ...] = KINDS) -> None:
    """Write ``each`` videos of every kind as ``root/KIND/N.SUFFIX``; those that are there stay.

    Raises:
        UserError: this PyAV lacks an encoder.
    """
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
    try:
        with av.open(str(path), "w") as container:
            stream = container.add_stream(kind.codec, rate=kind.fps)
            stream.width, stream.height, stream.pix_fmt = kind.width, kind.height, "yuv420p"
            stream.options = dict(kind.options)
            for i, picture in enumerate(film(kind, seed)):
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts, frame.time_base = i, Fraction(1, kind.fps)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
    except av.codec.codec.UnknownCodecError:
        raise UserError(f"--make: this PyAV has no encoder {kind.codec}; give a folder of videos") from None


def film(kind: Kind, seed: int) -> Iterator[NDArray[np.uint8]]:
    """Pictures ``(height, width, 3)``: a panning background, patches that drift over it, and a camera's noise."""
    rng = np.random.default_rng(seed)
    height, width = kind.height, kind.width
    scale = height / 256
    back = _texture(rng, 2 * height, 2 * width)
    patches = [_texture(rng, round(rng.uniform(0.2, 0.45) * height), round(0.3 * height)) for _ in range(4)]
    starts, speeds = rng.uniform(0, 1, (4, 2)) * (height, width), rng.normal(0, 40, (4, 2)) * scale
    pan = rng.normal(0, 15, 2) * scale
    noise = rng.normal(0, 2, (2 * height, width, 1))
    for i in range(kind.frames):
        top, left = (round(v) for v in np.array([height, width]) / 2 * (1 + np.sin(pan / height * i / kind.fps)))
        picture = back[top : top + height, left : left + width].copy()
        for patch, start, speed in zip(patches, starts, speeds, strict=True):
            rows, columns = patch.shape[:2]
            place = np.mod(start + speed * i / kind.fps, (height - rows, width - columns)).astype(int)
            picture[place[0] : place[0] + rows, place[1] : place[1] + columns] = patch
        shift = rng.integers(0, height)
        yield np.clip(picture + noise[shift : shift + height], 0, 255).astype(np.uint8)


def _texture(rng: np.random.Generator, height: int, width: int) -> NDArray[np.float32]:
    """Noise of several sizes, the coarser the stronger, as in photographs."""
    picture = np.full((height, width, 3), 128, dtype=np.float32)
    for grain, strength in ((64, 45), (16, 25), (4, 12)):
        coarse = rng.normal(0, strength, (height // grain + 2, width // grain + 2, 3))
        fine = np.repeat(np.repeat(coarse, grain, 0), grain, 1)[:height, :width]
        picture += fine.astype(np.float32)
    return picture
