"""Decoding with PyAV, whose wheel includes FFmpeg, one group of pictures at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, groupby, islice, repeat
from math import atan2, copysign, degrees, hypot
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from lit_video.video.decoding.colours import refuse_colours
from lit_video.video.decoding.container import DecodeError, open_video, reading, video_stream
from lit_video.video.decoding.decoder import PREDICTED, Decoder, judged
from lit_video.video.decoding.frame_table import Frames, FrameTable, check_numbers, check_sound, frame_table, stacked
from lit_video.video.decoding.packets import filled
from lit_video.video.decoding.side_data import side_data

# (path, frame numbers from 0) -> RGB (frames, height, width, 3); raises DecodeError and IndexError
Decode = Callable[[Path, Sequence[int]], Frames]


def decode(path: Path, numbers: Sequence[int]) -> Frames:
    """Decode frames of a video by their number in display order: RGB, ``(len(numbers), height, width, 3)``.

    Groups of pictures without a wanted frame, and unwanted frames to which no other frame refers, are skipped. The
    pixels equal those from decoding the whole video. The display matrix (rotation, mirroring) is applied. Raises a
    :class:`DecodeError` for a file that cannot be read and for a wanted frame that is damaged.
    """
    table = frame_table(path)
    check_numbers(path, numbers, table.count)
    check_sound(path, table, numbers)
    wanted = sorted(set(numbers))
    images: dict[int, Frames] = {}
    with reading(path):
        if table.keyframes:
            with suppress(av.FFmpegError), open_video(path) as container:  # if seeking fails, read from the start
                images = _by_time(container, table, wanted)
    if len(images) < len(wanted):
        images = dict(zip(wanted, decode_in_order(path, wanted), strict=True))
    return stacked(path, images, numbers)


def decode_in_order(path: Path, numbers: Sequence[int]) -> Iterator[Frames]:
    """Yield frames ``(height, width, 3)`` of ascending numbers, decoded from the start; see :func:`decode`."""
    table = frame_table(path)
    check_numbers(path, numbers, table.count)
    missing, converter = Counter(numbers), VideoReformatter()
    with reading(path):
        for number, frame in frames_in_order(path, table, sorted(missing)):
            yield from [_rgb(frame, converter, table.matrix)] * missing.pop(number)
    if missing:
        raise DecodeError(f"{path}: {table.where(sorted(missing))} missing from the stream")


def _by_time(container: InputContainer, table: FrameTable, wanted: list[int]) -> dict[int, Frames]:
    """Decode one group of pictures after the other; identify frames by their presentation times."""
    images: dict[int, Frames] = {}
    stream, converter = video_stream(container), VideoReformatter()
    for gop, members in groupby(wanted, key=lambda i: bisect_right(table.keyframes, table.pts[i])):
        number_of = {table.pts[i]: i for i in members}
        start = table.keyframes[max(gop - 1, 0)]
        container.seek(start, stream=stream)
        exact = False
        found: dict[int, Frames] = {}
        for frame, lost in _frames(container, stream, table, set(number_of)):
            if frame.pts is None:
                continue
            # if the first frame is later than the key frame, the seek went too far, or the key frame is no full picture
            exact = exact or frame.pts <= max(start, table.pts[0])
            # a container may mark a predicted frame as key frame; damage before ``start`` belongs to the previous group
            predicted = frame.pts == start and frame.pict_type in PREDICTED
            if not exact or predicted or lost or (frame.is_corrupt and frame.pts >= start):
                found = {}  # frames shown earlier may refer to the damaged frame
                break
            if frame.pts in number_of:
                found[number_of[frame.pts]] = _rgb(frame, converter, table.matrix)
        images |= found
    return images


def _frames(
    container: InputContainer, stream: VideoStream, table: FrameTable, wanted: set[int]
) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield frames from the current position, in display order, until the wanted times are decoded.

    Each frame comes with a flag: True once the decoder has reported a lost picture at any packet but the first.
    """
    decoder = Decoder(stream)
    packets = filled(container, stream)
    # beside a gap, frames that are skipped would hide a loss from H.264's decoder
    if table.counted or (table.gap and decoder.listens):
        yield from _until(decoder, packets, max(wanted))
        return
    context, behind = decoder.context, decoder.behind
    lost, first = False, True
    for packet in packets:
        # no frame depends on a non-reference frame, so skipping it changes no pixels
        context.skip_frame = "DEFAULT" if behind > 1 or packet.pts in wanted else "NONREF"
        frames, told = decoder.decode(packet)
        lost, first = lost or (told and not first), False
        yield from zip(frames, repeat(lost))
        wanted.discard(packet.pts)
        if not wanted:
            break
    # a decoder often reports damage at the next packet; all but AV1's need only that packet's header for it
    context.skip_frame = "DEFAULT" if behind > 1 else "ALL"
    for packet in islice(packets, behind):
        yield from zip(context.decode(packet), repeat(lost))
    # flush the decoder: the last frames come out in display order
    yield from zip(decoder.rest(), repeat(lost))


def _until(decoder: Decoder, packets: Iterator[Packet[VideoStream]], last: int) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield frames until one after the time ``last``, as :func:`_frames`, where packets may not be frames."""
    lost, first = False, True
    for packet in packets:
        frames, told = decoder.decode(packet)
        lost, first = lost or (told and not first), False
        yield from zip(frames, repeat(lost))
        if any(frame.pts is not None and frame.pts > last for frame in frames):
            return
    yield from zip(decoder.rest(), repeat(lost))


def frames_in_order(path: Path, table: FrameTable, wanted: Sequence[int]) -> Iterator[tuple[int, VideoFrame]]:
    """Yield wanted frames with their numbers, decoded from the start, for streams without times or exact seeking."""
    number_of: dict[int | None, int] = dict(zip(table.pts, count()))
    last, keep = max(wanted), set(wanted)
    with open_video(path) as container:
        for i, (frame, spoiled) in enumerate(judged(container, bool(table.pts))):
            if table.pts:
                i = number_of.get(frame.pts, -1)
            if i in keep:
                check_sound(path, table, [i])
                if spoiled:
                    raise DecodeError(f"{path}: {table.where([i])} damaged, says the decoder")
                yield i, frame
            if i >= last:
                break


def _rgb(frame: VideoFrame, converter: VideoReformatter, matrix: str) -> Frames:
    refuse_colours(frame)
    # one converter per clip, without threads: creating a converter or threads costs more than converting a small frame
    image: Frames = converter.reformat(frame, format="rgb24", threads=1).to_ndarray().astype(np.uint8, copy=False)
    transposed, down, right = orientation(frame, matrix)
    if transposed:
        image = image.swapaxes(0, 1)
    return image[::down, ::right]


def orientation(frame: VideoFrame, matrix: str) -> tuple[bool, int, int]:
    """Return whether a frame is shown transposed, and the steps through its rows and columns (-1: reversed).

    ``matrix`` is the table's, for frames that have none.
    """
    own = side_data(frame).get("DISPLAYMATRIX", bytes.fromhex(matrix) or bytes(20))
    a, b, _, c, d = np.frombuffer(own, np.int32)[:5].tolist()
    across, down = hypot(a, c), hypot(b, d)
    if not across or not down:  # no matrix, or a degenerate one: FFmpeg shows the stored picture
        return False, 1, 1
    quarters, rest = divmod(round(degrees(atan2(b / down, a / across))), 90)
    if rest:
        turn = f"its header turns the picture by {(90 * quarters + rest) % 360} degrees"
        raise av.PatchWelcomeError(0, f"{turn}; encode it upright: ffmpeg -i IN OUT")
    down, right = (b, c) if quarters % 2 else (d, a)
    return bool(quarters % 2), int(copysign(1, down)), int(copysign(1, right))


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
        """Decode frames of a video by their number, see :func:`decode`."""
        if path not in self._videos:
            table = frame_table(path)
            if 3 * table.count * table.height * table.width > self._room:
                return self._decode(path, numbers)
            try:
                self._videos[path] = self._decode(path, range(table.count))
            except DecodeError:  # the video is damaged, but perhaps not the wanted frames
                return self._decode(path, numbers)
            self._room -= self._videos[path].nbytes
        frames = self._videos[path]
        check_numbers(path, numbers, len(frames))
        return frames[list(numbers)]
