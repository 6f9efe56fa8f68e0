"""Decoding with PyAV, whose wheel includes FFmpeg, one group of pictures at a time: RGB pixels, kept on request."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from itertools import groupby, islice
from math import atan2, copysign, degrees, hypot
from pathlib import Path
from typing import Literal

import av
import numpy as np
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from lit_video.video.decoding.container import DecodeError, open_video, reading, video_stream
from lit_video.video.decoding.decoder import PREDICTED, Decoder, judged, side_data
from lit_video.video.decoding.packets import filled
from lit_video.video.decoding.table_of_frames import FrameTable
from lit_video.video.decoding.table_reading import (
    ClipFrames,
    Frames,
    check_numbers,
    check_sound,
    frame_table,
    known_table,
    scanned,
)

# colours that FFmpeg decodes but does not convert to RGB (ITU-T H.273, table 4)
_CONVERTED = {0, 1, 2, 4, 5, 6, 7, 9}  # matrices of FFmpeg's conversion; 2: unknown
_NAMES = {
    8: "YCgCo",
    10: "BT.2020 with constant luminance",
    11: "Y'D'zD'x",
    13: "constant luminance",
    14: "ICtCp",
    15: "IPT-C2",
    16: "YCgCo-Re",
    17: "YCgCo-Ro",
}
_READ_BY_ZSCALE = {8, 10, 12, 13, 14}  # further matrices that zimg reads
_CONVERT = "ffmpeg -i IN -vf zscale=matrix=709 OUT"
# (path, frame numbers from 0) -> RGB (frames, height, width, 3); raises DecodeError and IndexError
Decode = Callable[[Path, Sequence[int]], Frames]


def rgb(frame: VideoFrame, converter: VideoReformatter, matrix: str) -> Frames:
    """Convert a frame to RGB, ``(height, width, 3)``, as it is shown; see :func:`orientation` for ``matrix``.

    One converter is used for all frames of a clip, and without threads: creating a converter or threads costs more than
    converting a small frame.
    """
    refuse_colours(frame)
    converted = converter.reformat(frame, format="rgb24", threads=1)
    image: Frames = converted.to_ndarray().astype(np.uint8, copy=False)

    transposed, down, right = orientation(frame, matrix)
    if transposed:
        image = image.swapaxes(0, 1)
    return image[::down, ::right]


def orientation(frame: VideoFrame, matrix: str) -> tuple[bool, int, int]:
    """Return whether a frame is shown transposed, and the steps through its rows and columns (-1: reversed).

    ``matrix`` is the table's, for frames that have none.
    """
    return _orientation(side_data(frame).get("DISPLAYMATRIX") or bytes.fromhex(matrix) or bytes(20))


@lru_cache
def _orientation(matrix: bytes) -> tuple[bool, int, int]:
    """Return what :func:`orientation` does, for a display matrix of FFmpeg."""
    a, b, _, c, d = np.frombuffer(matrix, np.int32)[:5].tolist()
    across = hypot(a, c)
    down = hypot(b, d)
    if not across or not down:  # no matrix, or a degenerate one: FFmpeg shows the stored picture
        return False, 1, 1

    turn = round(degrees(atan2(b / down, a / across)))
    quarters, rest = divmod(turn, 90)
    if rest:
        reason = f"its header turns the picture by {turn % 360} degrees"
        raise av.PatchWelcomeError(0, f"{reason}; encode it upright: ffmpeg -i IN OUT")

    transposed = bool(quarters % 2)
    row_sign, column_sign = (b, c) if transposed else (d, a)
    return transposed, int(copysign(1, row_sign)), int(copysign(1, column_sign))


def refuse_colours(frame: VideoFrame) -> None:
    """Raise an ``av.PatchWelcomeError``, with the reason and the way out, for colours that cannot be converted."""
    matrix = frame.colorspace
    if matrix in _CONVERTED or frame.format.is_rgb:
        return
    name = _NAMES.get(matrix, f"matrix {matrix} of H.273")
    advice = f"convert it: {_CONVERT}" if matrix in _READ_BY_ZSCALE else "export it from its source as BT.709"
    raise av.PatchWelcomeError(0, f"its colours are stored as {name}, which is not converted; {advice}")


def decode(path: Path, numbers: Sequence[int]) -> Frames:
    """Decode frames of a video by their number in display order: RGB, ``(len(numbers), height, width, 3)``.

    Groups of pictures without a wanted frame, and unwanted frames to which no other frame refers, are skipped. The
    pixels equal those from decoding the whole video. The display matrix (rotation, mirroring) is applied. Raises a
    :class:`DecodeError` for a file that cannot be read and for a wanted frame that is damaged.
    """
    clip = ClipFrames(path, numbers)
    is_whole = False
    table = known_table(path)
    with reading(path), ExitStack() as files:
        container: InputContainer | None = None
        if not table:
            container = files.enter_context(open_video(path))
            table = scanned(path, container)
        check_numbers(path, numbers, table.count)
        check_sound(path, table, numbers)

        if table.keyframes:
            with suppress(av.FFmpegError):  # if seeking fails, read from the start
                container = container or files.enter_context(open_video(path))
                is_whole = _is_written_by_time(clip, container, table)

    if not is_whole:
        for number, image in zip(clip.numbers, decode_in_order(path, clip.numbers), strict=True):
            clip.write(number, image)
    return clip.frames


def decode_in_order(path: Path, numbers: Sequence[int]) -> Iterator[Frames]:
    """Yield frames ``(height, width, 3)`` of ascending numbers, decoded from the start; see :func:`decode`."""
    table = frame_table(path)
    check_numbers(path, numbers, table.count)

    missing = Counter(numbers)
    converter = VideoReformatter()
    with reading(path):
        for number, frame in frames_in_order(path, table, sorted(missing)):
            image = rgb(frame, converter, table.matrix)
            for _ in range(missing.pop(number)):
                yield image
    if missing:
        raise DecodeError(f"{path}: {table.where(sorted(missing))} missing from the stream")


def _is_written_by_time(clip: ClipFrames, container: InputContainer, table: FrameTable) -> bool:
    """Decode a clip's frames, one group of pictures after the other; return whether all are there, and surely right.

    Frames are identified by their presentation times.
    """
    stream = video_stream(container)
    converter = VideoReformatter()
    for group, numbers in groupby(clip.numbers, lambda number: bisect_right(table.keyframes, table.pts[number])):
        number_of = {table.pts[number]: number for number in numbers}
        start = table.keyframes[max(group - 1, 0)]
        container.seek(start, stream=stream)
        frames = _frames(container, stream, table, times=set(number_of))
        for frame in _sound(frames, start=start, latest_begin=max(start, table.pts[0])):
            if frame is None:
                return False
            if frame.pts in number_of:
                clip.write(number_of.pop(frame.pts), rgb(frame, converter, table.matrix))
        if number_of:
            return False
    return True


def _sound(frames: Iterable[tuple[VideoFrame, bool]], *, start: int, latest_begin: int) -> Iterator[VideoFrame | None]:
    """Yield the frames of a group of pictures that have times; ``None``, at last, if the decoder may show wrong pixels.

    Args:
        frames: decoded frames, each with a flag: True after a lost picture.
        start: time of the group's key frame.
        latest_begin: time by which the first frame must come.
    """
    begins_in_time = False
    for frame, is_lost in frames:
        if frame.pts is None:
            continue

        # if the first frame is later than the key frame, the seek went too far, or the key frame is no full picture
        begins_in_time = begins_in_time or frame.pts <= latest_begin
        # a container may mark a predicted frame as key frame
        is_predicted = frame.pts == start and frame.pict_type in PREDICTED
        # damage before ``start`` belongs to the previous group
        is_damaged = frame.is_corrupt and frame.pts >= start
        if not begins_in_time or is_predicted or is_lost or is_damaged:
            yield None  # frames shown earlier may refer to the damaged frame
            return
        yield frame


def _frames(
    container: InputContainer, stream: VideoStream, table: FrameTable, *, times: set[int]
) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield frames from the current position, in display order, until those of some presentation times are decoded.

    Each frame comes with a flag: True once the decoder has reported a lost picture at any packet but the first.
    """
    decoder = Decoder(stream)
    packets = filled(container, stream)
    # beside a gap, frames that are skipped would hide a loss from H.264's decoder
    if table.counted or (table.gap and decoder.listens):
        yield from _until(decoder, packets, last=max(times))
        return

    context = decoder.context
    behind = decoder.behind
    is_lost = False
    skipped: Literal["DEFAULT", "NONREF"] | None = None
    for position, packet in enumerate(packets):
        # no frame depends on a non-reference frame, so skipping it changes no pixels
        before, skipped = skipped, "DEFAULT" if behind > 1 or packet.pts in times else "NONREF"
        if skipped != before:  # to set it takes 2 microseconds
            context.skip_frame = skipped
        frames, reports_loss = decoder.decode(packet)
        is_lost = is_lost or (reports_loss and position > 0)
        for frame in frames:
            yield frame, is_lost

        times.discard(packet.pts)
        if not times:
            break

    # a decoder often reports damage at the next packet; all but AV1's need only that packet's header for it
    context.skip_frame = "DEFAULT" if behind > 1 else "ALL"
    for packet in islice(packets, behind):
        for frame in context.decode(packet):
            yield frame, is_lost

    # flush the decoder: the last frames come out in display order
    for frame in decoder.rest():
        yield frame, is_lost


def _until(decoder: Decoder, packets: Iterator[Packet[VideoStream]], *, last: int) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield frames like :func:`_frames` up to the first after the time ``last``, where packets may not be frames."""
    is_lost = False
    for position, packet in enumerate(packets):
        frames, reports_loss = decoder.decode(packet)
        is_lost = is_lost or (reports_loss and position > 0)
        for frame in frames:
            yield frame, is_lost
        if any(frame.pts is not None and frame.pts > last for frame in frames):
            return

    for frame in decoder.rest():
        yield frame, is_lost


def frames_in_order(path: Path, table: FrameTable, chosen: Sequence[int]) -> Iterator[tuple[int, VideoFrame]]:
    """Yield chosen frames with their numbers, decoded from the start, for streams without times or exact seeking."""
    number_of: dict[int | None, int] = {time: number for number, time in enumerate(table.pts)}
    numbers = set(chosen)
    last = max(chosen)

    with open_video(path) as container:
        for position, (frame, is_spoiled) in enumerate(judged(container, timed=bool(table.pts))):
            number = number_of.get(frame.pts, -1) if table.pts else position
            if number in numbers:
                check_sound(path, table, [number])
                if is_spoiled:
                    raise DecodeError(f"{path}: {table.where([number])} damaged, says the decoder")
                yield number, frame
            if number >= last:
                break


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
