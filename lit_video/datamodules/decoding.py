"""Frame-exact decoding of the frames that a clip needs, and no others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import groupby
from math import ceil
from pathlib import Path

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream
from numpy.typing import NDArray

from lit_video.datamodules.known_tables import known_table
from lit_video.datamodules.soundness import cut_off, no_file, no_video

Frames = NDArray[np.uint8]


class DecodeError(RuntimeError):
    """A video that cannot be read, with its path and the reason."""


@dataclass(frozen=True)
class FrameTable:
    """The frames of a video in display order, read from its packets without decoding.

    Args:
        pts: presentation time of every frame, in units of ``time_base``, ascending; empty if the packets carry none.
        time_base: seconds per unit of ``pts``.
        keyframes: presentation times of the frames where decoding can start, ascending.
        count: number of frames.
        seconds: duration, last frame included.
        height: rows of a decoded frame before rotation.
        width: columns of a decoded frame before rotation.
    """

    pts: tuple[int, ...]
    time_base: Fraction
    keyframes: tuple[int, ...]
    count: int
    seconds: Fraction
    height: int
    width: int


@lru_cache(maxsize=65536)
def frame_table(path: Path) -> FrameTable:
    """Scan a video's packets (1-3 ms for ten seconds); cached per process.

    Raises:
        DecodeError: the file cannot be opened, or holds no video.
    """
    known: FrameTable | None = known_table(path)
    if known is not None:
        return known
    try:
        if reason := no_file(path):
            raise DecodeError(f"{path}: {reason}")
        with av.open(str(path)) as container:
            stream = _video(container.streams.video, path)
            if reason := no_video(container) or cut_off(stream, path):
                raise DecodeError(f"{path}: {reason}")
            packets = [p for p in container.demux(stream) if p.size]
            shown = [p for p in packets if not p.is_discard]  # an edit list hides frames that others refer to
            rate = stream.average_rate or Fraction(25)
            times = {p.pts for p in shown if p.pts is not None}
            # AVI has no display times, and equal times tell no frames apart: such frames are counted
            timed = len(times) == len(shown) and stream.time_base is not None and container.format.name != "avi"
            pts = tuple(sorted(times)) if timed else ()
            keys = tuple(sorted(p.pts for p in packets if p.is_keyframe and p.pts is not None)) if pts else ()
            base = Fraction(stream.time_base or 1)
            seconds = _seconds(pts, base, rate) if pts else len(shown) / Fraction(rate)
            height, width = stream.codec_context.height, stream.codec_context.width
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: {_reason(error)}") from error
    if not shown:
        raise DecodeError(f"{path}: the video stream is empty")
    return FrameTable(pts, base, keys, len(shown), seconds, height, width)


def segment(path: Path, start: float | None, end: float | None) -> tuple[int, FrameTable]:
    """The part of a video from ``start`` to ``end``, in seconds from its first frame, as if it were a whole one.

    Returns:
        The number of its first frame, and its own table, at least one frame long.

    Raises:
        DecodeError: the video cannot be opened, or the segment lies outside it.
    """
    table = frame_table(path)
    if start is None and end is None:
        return 0, table
    begin, stop = Fraction(start or 0), table.seconds if end is None else min(Fraction(end), table.seconds)
    if not 0 <= begin < stop:
        asked = f"{start or 0:g} to {'its end' if end is None else f'{end:g} s'}"
        raise DecodeError(f"{path}: no segment from {asked} in a video of {float(table.seconds):.2f} s")
    if table.pts:
        first, last = (bisect_left(table.pts, table.pts[0] + t / table.time_base) for t in (begin, stop))
    else:
        first, last = (ceil(t * table.count / table.seconds) for t in (begin, stop))
    first = min(first, table.count - 1)
    last = max(last, first + 1)
    part = replace(table, pts=table.pts[first:last], count=last - first, seconds=stop - begin)
    return first, part


def decode(path: Path, numbers: Sequence[int]) -> Frames:
    """Frames of a video by their number in display order.

    Groups of pictures without a wanted frame are jumped over; frames that no other frame refers to are skipped unless
    wanted. Both are exact: the pixels are those of decoding the whole video and picking. Rotation metadata is applied.

    Args:
        path: the video.
        numbers: frame numbers from 0, in any order; repeats are allowed.

    Returns:
        RGB, ``(len(numbers), height, width, 3)``.

    Raises:
        DecodeError: the file cannot be read, or a wanted frame cannot be decoded.
        IndexError: a number beyond the video's frames.
    """
    table = frame_table(path)
    beyond = [i for i in numbers if not 0 <= i < table.count]
    if beyond:
        raise IndexError(f"{path}: frames {beyond} of a video with {table.count} frames")
    wanted = sorted(set(numbers))
    try:
        with av.open(str(path)) as container:
            stream = _video(container.streams.video, path)
            # threads gain nothing with one worker per core, and leaving early from frame threads can hang PyAV
            stream.codec_context.thread_type = "NONE"
            found = {}
            with suppress(av.FFmpegError):  # a container that cannot seek is read from its start
                found = _by_time(container, stream, table, wanted) if table.pts else {}
        if len(found) < len(wanted):
            found = _from_start(path, table, wanted)
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: {_reason(error)}") from error
    if len(found) < len(wanted):
        raise DecodeError(f"{path}: frames {sorted(set(wanted) - found.keys())} are missing from the stream")
    if len({frame.shape for frame in found.values()}) > 1:
        raise DecodeError(f"{path}: the frames change their size")
    return np.stack([found[i] for i in numbers])


def _by_time(
    container: av.container.InputContainer, stream: VideoStream, table: FrameTable, wanted: list[int]
) -> dict[int, Frames]:
    """Decode group of pictures by group of pictures, frames identified by their presentation time."""
    found: dict[int, Frames] = {}
    converter = VideoReformatter()
    for gop, members in groupby(wanted, key=lambda i: bisect_right(table.keyframes, table.pts[i])):
        number_of = {table.pts[i]: i for i in members}
        start = table.keyframes[max(gop - 1, 0)]
        container.seek(start, stream=stream)
        exact = False
        for packet in container.demux(stream):
            # a non-reference frame is used by no other frame, so leaving it undecoded changes none
            stream.codec_context.skip_frame = "DEFAULT" if packet.pts in number_of else "NONREF"
            for frame in packet.decode():
                if not isinstance(frame, VideoFrame) or frame.pts is None:
                    continue
                # a first frame after the key frame: the seek landed late, or the key frame is no full picture
                exact = exact or frame.pts <= max(start, table.pts[0])
                if exact and frame.pts in number_of:
                    found[number_of.pop(frame.pts)] = _rgb(frame, converter)
            if not number_of:
                break
    return found


def _from_start(path: Path, table: FrameTable, wanted: list[int]) -> dict[int, Frames]:
    """Decode from the start: for streams without usable times, which are counted, or that cannot seek exactly."""
    number_of = {pts: i for i, pts in enumerate(table.pts)}
    last, keep = max(wanted), set(wanted)
    converter = VideoReformatter()
    with av.open(str(path)) as container:
        stream = _video(container.streams.video, path)
        stream.codec_context.thread_type = "NONE"
        found = {}
        for count, frame in enumerate(container.decode(stream)):
            i = count if not table.pts else -1 if frame.pts is None else number_of.get(frame.pts, -1)
            if i in keep:
                found[i] = _rgb(frame, converter)
            if i >= last:
                break
    return found


def _video(streams: Sequence[VideoStream], path: Path) -> VideoStream:
    if not streams:
        raise DecodeError(f"{path}: no video stream")
    return streams[0]


def _rgb(frame: VideoFrame, converter: VideoReformatter) -> Frames:
    # one converter for all frames of a clip: making one costs more than converting a small frame
    image: Frames = converter.reformat(frame, format="rgb24").to_ndarray().astype(np.uint8, copy=False)
    # PyAV counts rotation counter-clockwise, as rot90 does
    return np.rot90(image, frame.rotation // 90) if frame.rotation else image


def _seconds(pts: tuple[int, ...], time_base: Fraction, rate: Fraction) -> Fraction:
    """From the first frame to the end of the last one, which lasts as long as its predecessor."""
    step = (pts[-1] - pts[-2]) * time_base if len(pts) > 1 else 1 / Fraction(rate)
    return (pts[-1] - pts[0]) * time_base + step


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
