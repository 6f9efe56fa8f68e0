"""Which library decodes, and decoding once where videos fit into memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from lit_video.video.decoding import pyav, torchcodec
from lit_video.video.decoding.frame_table import DecodeError, Frames, check_numbers, frame_table

DecoderName = Literal["pyav", "torchcodec"]
# (path, frame numbers from 0) -> RGB (frames, height, width, 3); raises DecodeError and IndexError as pyav's does
Decode = Callable[[Path, Sequence[int]], Frames]


def decoder(name: DecoderName) -> Decode:
    """The decoder of a name.

    Raises:
        ValueError: its library is not installed, or does not work here; or there is none of this name.
    """
    if name == "pyav":
        return pyav.decode
    if name != "torchcodec":
        raise ValueError(f"decoder is {name!r}, expected pyav or torchcodec")
    torchcodec.check()
    return torchcodec.decode


class KeptVideos:
    """A decoder that decodes a video as a whole at its first use, and keeps the pixels while there is room.

    For data sets of short videos that fit into memory: every process that decodes, main or worker, keeps its own. What
    finds no room is decoded every time, as without.

    Args:
        decode: the decoder.
        gigabytes: of pixels that a process keeps.
    """

    def __init__(self, decode: Decode, gigabytes: float) -> None:
        self._decode = decode
        self._room = int(gigabytes * 1e9)
        self._videos: dict[Path, Frames] = {}

    def __call__(self, path: Path, numbers: Sequence[int]) -> Frames:
        """Frames of a video by their number, see :data:`~lit_video.video.decoding.decoders.Decode`."""
        if path not in self._videos and not self._keep(path):
            return self._decode(path, numbers)
        frames = self._videos[path]
        check_numbers(path, numbers, len(frames))
        return frames[list(numbers)]

    def _keep(self, path: Path) -> bool:
        """Decode all of a video that fits; one with a damaged part is read as far as it is asked for, each time."""
        table = frame_table(path)
        if 3 * table.count * table.height * table.width > self._room:
            return False
        try:
            frames = self._decode(path, range(table.count))
        except DecodeError:
            return False
        self._room -= frames.nbytes
        self._videos[path] = frames
        return True
