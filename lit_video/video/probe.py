"""Facts about one video: its row of a manifest, from its packets and its first frame, or from all its frames."""

from __future__ import annotations

import os
from array import array
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import av
from av.video.frame import VideoFrame

from lit_video.video.decoding import (
    DecodeError,
    FrameTable,
    decode,
    decode_images,
    forget_tables,
    frame_table,
    image_table,
)
from lit_video.video.decoding.container import scanned_stream
from lit_video.video.decoding.frame_table import compact

SHORT = 0.9  # of the announced duration: less is a video that ends early


@dataclass
class VideoInfo:
    """A row of a manifest.

    Args:
        path: relative to the root.
        size: bytes of the file, or of all files of a folder of frames.
        mtime: its last change, in nanoseconds since 1970.
        status: whether it can be read.
        reason: why not.
        frames: number of frames.
        seconds: duration, last frame included.
        width: of the picture as it is shown, rotation applied.
        height: likewise.
        fps: frames per second, on average.
        rotation: of the stored picture, in degrees, counter-clockwise.
        decoded: whether all frames were decoded.
        table: the frame table, see :func:`pack`.
    """

    path: str
    size: int | None = None
    mtime: int | None = None
    status: Literal["ok", "missing", "broken"] = "ok"
    reason: str = ""
    frames: int | None = None
    seconds: float | None = None
    width: int | None = None
    height: int | None = None
    fps: float | None = None
    rotation: int | None = None
    decoded: bool = False
    table: dict[str, Any] | None = None

    def same_file(self, other: VideoInfo) -> bool:
        """Whether both are of one state of a file."""
        return (self.size, self.mtime) == (other.size, other.mtime)


def stamp(path: Path, name: str) -> VideoInfo:
    """Size and last change of a file or of a folder of frames; its status is ``missing`` where there is none."""
    try:
        stat = path.stat()
        if not path.is_dir():
            return VideoInfo(name, stat.st_size, stat.st_mtime_ns)
        inside = [entry.stat() for entry in os.scandir(path) if entry.is_file()]
        newest = max([stat.st_mtime_ns, *(entry.st_mtime_ns for entry in inside)])
        return VideoInfo(name, sum(entry.st_size for entry in inside), newest)
    except FileNotFoundError:
        return VideoInfo(name, status="missing", reason="no such file")
    except OSError as error:
        return VideoInfo(name, status="broken", reason=error.strerror or str(error))


def probe(path: Path, name: str, every_frame: bool, fps: float | None = None) -> VideoInfo:
    """Scan the packets of a video, or list a folder of images of this rate, and decode the first frame or all.

    Raises no error: what is wrong is in ``status`` and ``reason``.
    """
    info = stamp(path, name)
    if info.status != "ok":
        return info
    forget_tables()  # the file may have changed; and of a million videos each is read once
    try:
        table = frame_table(path) if fps is None else image_table(path, fps)
        read_frames = decode if fps is None else decode_images
        first = read_frames(path, [0])
        info.frames, info.seconds = table.count, float(table.seconds)
        info.height, info.width = first.shape[1:3]
        info.fps = round(table.count / float(table.seconds), 3)
        info.rotation = 0
        if fps is None:
            info.rotation, announced = _header(path, table)
            if float(table.seconds) < SHORT * announced and announced - float(table.seconds) > 3 / info.fps:
                raise DecodeError(f"{path}: {announced:.2f} s are announced, the frames end at {info.seconds:.2f} s")
            if every_frame:
                _decode_all(path, table)
        elif every_frame:
            for i in range(table.count):
                read_frames(path, [i])
        info.decoded = every_frame
        info.table = pack(table)
    except DecodeError as error:
        info.status, info.reason = "broken", str(error).removeprefix(f"{path}: ")
    return info


def _header(path: Path, table: FrameTable) -> tuple[int, float]:
    """Rotation, and the seconds that the header announces: 0 where it says nothing about the video alone."""
    with av.open(str(path)) as container:
        stream = scanned_stream(container)
        frame = next(container.decode(stream), None)
        announced = float(stream.duration * stream.time_base) if stream.duration and stream.time_base else 0.0
        if container.format.name == "avi":  # counts again what is there
            announced = float(stream.frames * table.seconds / table.count)
        elif tag := stream.metadata.get("DURATION"):  # Matroska's
            hours, minutes, seconds = tag.split(":")
            announced = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        elif not announced and len(container.streams) == 1:
            announced = (container.duration or 0) / 1e6
        return (frame.rotation % 360 if isinstance(frame, VideoFrame) else 0), announced


def _decode_all(path: Path, table: FrameTable) -> None:
    """Decode from start to end.

    Raises:
        DecodeError: a frame is damaged or missing.
    """
    count = damaged = 0
    sizes: set[tuple[int, int]] = set()
    try:
        with av.open(str(path)) as container:
            stream = scanned_stream(container)
            for frame in container.decode(stream):
                count += 1
                damaged += frame.is_corrupt
                sizes.add((frame.width, frame.height))
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: {error.strerror or error} at frame {count}") from error
    if damaged:
        raise DecodeError(f"{path}: {damaged} of {count} frames are damaged")
    if len(sizes) > 1:
        raise DecodeError(f"{path}: its frames have several sizes")
    if count < table.count:
        raise DecodeError(f"{path}: {count} of {table.count} frames can be decoded")


def pack(table: FrameTable) -> dict[str, Any]:
    """A frame table as plain data; times as runs of equal steps, so a constant rate takes one."""
    return {key: _packed(value) for key, value in asdict(table).items()}


def unpack(row: dict[str, Any]) -> FrameTable:
    """The table that :func:`pack` has taken apart."""
    return FrameTable(**{key: _unpacked(value) for key, value in row.items()})


def _packed(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    if not isinstance(value, tuple | range | array):
        return value
    runs: list[int] = []  # the first one, then step and number of steps by turns
    for one, other in pairwise(value):
        if len(runs) > 1 and runs[-2] == other - one:
            runs[-1] += 1
        else:
            runs += [other - one, 1]
    return [*list(value[:1]), *runs]


def _unpacked(value: Any) -> Any:
    if isinstance(value, str):
        return Fraction(value)
    if not isinstance(value, list):
        return value
    values = value[:1]
    for step, times in zip(value[1::2], value[2::2], strict=True):
        values += range(values[-1] + step, values[-1] + step * times + 1, step)
    return compact(values)
