"""Decoded pixels of drawn videos in a file beside them: one run decodes a split, all later ones read it."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import av
import numpy as np

from lit_video.datamodules.probe import VideoInfo, stamp
from lit_video.utils.parallel import in_parallel
from lit_video.video.decoding import DecodeError, Frames, FrameTable, decode, frame_table

# most bytes of a file: a start reads it and its digest in about a second per GB, and larger ones would fill disks
MOST_STORED = 2**32
VIDEOS_AT_ONCE = 32  # videos that a process decodes at a time


@dataclass(frozen=True)
class SharedTable:
    """Frame table of several videos, a source of :func:`~lit_video.video.decoding.frame_table`.

    A video is scanned again if its size or time of modification has changed since the table was made.
    """

    table: FrameTable
    stamps: Mapping[Path, VideoInfo]

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "SharedTable":
        """Return the table that all these videos share, that of the first."""
        stamps = {path: stamp(path, path.name) for path in paths}
        return cls(frame_table(paths[0]), stamps)

    def __call__(self, path: Path) -> FrameTable | None:
        """Return the table, or ``None`` for another video."""
        if path not in self.stamps or not self.stamps[path].same_file(stamp(path, path.name)):
            return None
        return self.table


def pixels_name(split: str, videos: Mapping[str, str]) -> str:
    """Return the name of a split's file: a digest of the videos' names, their contents, and the decoder.

    The decoder counts because pixels may differ between versions of FFmpeg and between kinds of processors, which round
    colours differently. ``videos`` maps names to digests, in the order of the pixels.
    """
    decoder = [av.__version__, platform.machine(), *map(str, sorted(av.library_versions.items()))]
    lines = [*decoder, *(f"{content}  {name}" for name, content in videos.items())]
    key = sha256("\n".join(lines).encode()).hexdigest()
    return f"pixels-{split}-{key[:16]}.npy"


def read_pixels(file: Path, expected: str) -> Frames | None:
    """Return a file's array if its SHA-256 is the expected one, otherwise ``None``: a damaged file is never used.

    The array is made from the bytes that were compared, so a later change of the file has no effect. Loaders fork their
    workers, which share its memory; it is not mapped, because a mapped file may change after the comparison.
    """
    try:
        content = file.read_bytes()
    except OSError:
        return None
    if sha256(content).hexdigest() != expected:
        return None

    header = BytesIO(content)
    np.lib.format.read_magic(header)
    shape, _, _ = np.lib.format.read_array_header_1_0(header)
    return np.frombuffer(content, np.uint8, offset=header.tell()).reshape(shape)


def decoded(paths: Sequence[Path]) -> Frames | None:
    """Decode whole videos: ``(videos, frames, height, width, 3)``; ``None`` if one is damaged or of another length.

    Processes on all usable cores decode; threads cannot, since a decoder listens to FFmpeg's log of its process.
    """
    title = f"Decoding {len(paths)} videos, once for all runs"
    try:
        table = frame_table(paths[0])
    except DecodeError:
        return None
    pixels = np.empty((len(paths), table.count, table.height, table.width, 3), np.uint8)
    for number, video in enumerate(in_parallel(_whole, paths, title, chunk=VIDEOS_AT_ONCE)):
        if video is None or video[0] != table:
            return None
        pixels[number] = video[1]
    return pixels


def _whole(path: Path) -> tuple[FrameTable, Frames] | None:
    """Return a video's table and all its frames; ``None`` if it is damaged."""
    try:
        table = frame_table(path)
        return table, decode(path, range(table.count))
    except DecodeError:
        return None


def write_pixels(file: Path, pixels: Frames) -> None:
    """Write an array in the format of ``numpy.save``."""
    with file.open("wb") as opened:
        np.save(opened, pixels)
