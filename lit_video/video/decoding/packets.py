"""What is kept of a video's packets: numbers, not contents, which together are the whole file."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from lit_video.video.decoding.container import video_stream

KEYS = 8  # key frames whose contents are kept: whether they are whole pictures is asked of every video


class Seen(NamedTuple):
    """A packet without its contents; the names are PyAV's."""

    pts: int | None
    dts: int | None
    duration: int | None
    is_keyframe: bool
    is_corrupt: bool
    is_discard: bool
    is_disposable: bool


class Packets(list[Seen]):
    """The packets of a video that hold something, in the order of decoding.

    Args:
        path: of the video.
        container: opened, at its start.
        stream: of it.
    """

    def __init__(self, path: Path, container: InputContainer, stream: VideoStream) -> None:
        super().__init__()
        self._path = path
        self._first_keys: dict[int, Packet[VideoStream]] = {}
        for packet in _not_empty(container, stream):
            key = packet.is_keyframe
            if key and len(self._first_keys) < KEYS:
                self._first_keys[len(self)] = packet
            corrupt, discard, disposable = packet.is_corrupt, packet.is_discard, packet.is_disposable
            self.append(Seen(packet.pts, packet.dts, packet.duration, key, corrupt, discard, disposable))

    def contents(self, places: Collection[int] | None = None) -> Iterator[tuple[int, "Packet[VideoStream]"]]:
        """Packets with their places, in order: the file is read again, but for its first key frames.

        Raises:
            av.FFmpegError: it cannot be.
        """
        if places is not None and self._first_keys.keys() >= set(places):
            yield from ((place, self._first_keys[place]) for place in sorted(places))
            return
        wanted = None if places is None else set(places)
        with av.open(str(self._path)) as container:
            stream = video_stream(container)
            assert stream is not None, "it was there before"
            for place, packet in enumerate(_not_empty(container, stream)):
                if wanted is None or place in wanted:
                    yield place, packet

    @property
    def keys(self) -> Sequence[int]:
        """Places of the key frames."""
        return [place for place, packet in enumerate(self) if packet.is_keyframe]


def _not_empty(container: InputContainer, stream: VideoStream) -> Iterator["Packet[VideoStream]"]:
    return (packet for packet in container.demux(stream) if packet.size)
