"""A cache of decoded videos in the memory of one process."""

from collections.abc import Sequence
from pathlib import Path

from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.frame_table import Frames, check_numbers, frame_table
from lit_video.video.decoding.pyav import Decode


class KeptVideos:
    """A process's cache: a whole video is decoded at its first use, and its pixels are kept while there is room."""

    def __init__(self, decode: Decode, gigabytes: float) -> None:
        self._decode = decode
        self._room = int(gigabytes * 1e9)
        self._videos: dict[Path, Frames] = {}

    @property
    def room(self) -> int:
        """Number of bytes that further videos may take."""
        return self._room

    def fill(self, paths: Sequence[Path], pixels: Frames) -> None:
        """Keep whole videos that are decoded already, ``(videos, frames, height, width, 3)``."""
        self._videos.update(zip(paths, pixels, strict=True))
        self._room -= pixels.nbytes

    def __call__(self, path: Path, numbers: Sequence[int]) -> Frames:
        """Decode frames of a video by their number, see :func:`~lit_video.video.decoding.pyav.decode`."""
        if path not in self._videos:
            table = frame_table(path)
            size = 3 * table.count * table.height * table.width
            if size > self._room:
                return self._decode(path, numbers)

            try:
                whole = self._decode(path, range(table.count))
            except DecodeError:  # the video is damaged, but perhaps not the wanted frames
                return self._decode(path, numbers)
            self._videos[path] = whole
            self._room -= whole.nbytes

        frames = self._videos[path]
        check_numbers(path, numbers, len(frames))
        return frames[list(numbers)]
