"""Table of a video's frames, their times and key frames, mostly read from its packets without decoding.

The video is what the decoder shows, in its order and at its times: where packets may not be frames, it is decoded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from math import ceil
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from lit_video.video.decoding.container import DecodeError, check_end, check_file, open_video, reading, video_stream
from lit_video.video.decoding.damage import reported
from lit_video.video.decoding.decoder import judged
from lit_video.video.decoding.packets import Seen, before_key, one_frame_each, seeks, seen_packets
from lit_video.video.decoding.side_data import side_data
from lit_video.video.decoding.times import gap_text, restarts, usual_step, without_jumps

Frames = NDArray[np.uint8]

KEPT = 2**14  # tables kept in memory; each takes about 2 kB, plus 8 bytes per frame if the frame rate varies
TAIL = 32  # the frame shown last is among this many last packets in decoding order
NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS: FFmpeg invents the times
USUAL_RATE = 25  # FFmpeg's rate of a stream that has none
FIRST = 64  # frames decoded to detect a wrong order


@dataclass(frozen=True)
class FrameTable:
    """The frames of a video in display order; all times and numbers are ascending."""

    pts: Sequence[int]  # presentation time of every frame, in units of time_base; empty if the packets carry no times
    time_base: Fraction  # seconds per unit of pts
    keyframes: Sequence[int]  # presentation times at which decoding can start; empty: only at the first frame
    count: int  # number of frames
    seconds: Fraction  # duration, last frame included
    height: int  # rows of a decoded frame, before rotation
    width: int
    shown: Sequence[int] = ()  # times for sampling if they differ from pts: pts without jumps, or decoding times
    damaged: Sequence[int] = ()  # numbers of the frames that are known to be damaged
    damage: str = ""  # reason of the damage
    counted: bool = False  # True if the frames were found by decoding, because packets may not be frames
    gap: str = ""  # description of gaps in time, which may be pauses or lost data
    matrix: str = ""  # display matrix of frames that have none, in hexadecimal digits

    @property
    def times(self) -> Sequence[int]:
        """Display times of the frames, in units of ``time_base``; empty if unknown."""
        return self.shown or self.pts

    def seconds_at(self, number: int) -> float:
        """Return when a frame is shown, in seconds after the first frame."""
        times = self.pts or self.shown
        return float((times[number] - times[0]) * self.time_base if times else number * self.seconds / self.count)

    def where(self, numbers: Sequence[int]) -> str:
        """Name the first of some frames, with its time, and count the others: ``frame 72 (2.88 s) and 23 more``."""
        first = f"frame {numbers[0]} ({self.seconds_at(numbers[0]):.2f} s)"
        return f"{first} and {len(numbers) - 1} more" if len(numbers) > 1 else first


@lru_cache(KEPT)
def frame_table(path: Path) -> FrameTable:
    """Scan a video's packets (1-3 ms per ten seconds) and cache the table; raises a :class:`DecodeError`."""
    for source in _sources:
        if table := source(path):
            return table
    return _scan(path)


_sources: list[Callable[[Path], FrameTable | None]] = []


def add_source(source: Callable[[Path], FrameTable | None]) -> None:
    """Add a function that this process asks for a video's table before it scans the packets."""
    if source not in _sources:
        _sources.append(source)


def check_numbers(path: Path, numbers: Sequence[int], count: int) -> None:
    """Raise an :class:`IndexError` for frame numbers that a video does not have."""
    if beyond := [i for i in numbers if not 0 <= i < count]:
        raise IndexError(f"{path}: frames {beyond} of a video with {count} frames")


def stacked(path: Path, images: Mapping[int, Frames], numbers: Sequence[int]) -> Frames:
    """Stack numbered images ``(height, width, 3)`` into one array; raise a :class:`DecodeError` if sizes differ."""
    if len({image.shape for image in images.values()}) > 1:
        raise DecodeError(f"{path}: its frames have several sizes")
    return np.stack([images[i] for i in numbers])


def check_sound(path: Path, table: FrameTable, numbers: Sequence[int]) -> None:
    """Raise a :class:`DecodeError`, with times and the reason, for frames that are known to be damaged."""
    if damaged := sorted({*numbers}.intersection(table.damaged)):
        raise DecodeError(f"{path}: {table.where(damaged)} damaged: {table.damage}")


def _scan(path: Path) -> FrameTable:
    with reading(path), open_video(path) as container:
        stream = video_stream(container)
        check_file(container, stream, path)
        packets = seen_packets(container, stream)
        return _table(path, container, stream, packets)


def _table(path: Path, container: InputContainer, stream: VideoStream, packets: Sequence[Seen]) -> FrameTable:
    base = Fraction(stream.time_base or 1)
    shown = _shown(packets)
    if not shown:
        raise av.InvalidDataError(0, "the video stream is empty")
    _check_end(container, stream, path, shown)
    starts = restarts(packets, base)
    back = any(starts.values())
    spoilt = list[int]()
    counted = back or not one_frame_each(stream, packets)
    if counted:
        shown, spoilt = _decoded(path, inside=bool(before_key(packets)))
    pts = compact({frame.pts for frame in shown if frame.pts is not None})
    if back or len(pts) < len(shown) or not _identify(path, container, stream, shown, counted):
        pts = ()
    times = pts if pts or back else compact(_clock(container, shown))
    sampled = without_jumps(times, base)
    seconds = _seconds(container, stream, shown, times, sampled)
    keyframes: Sequence[int] = ()
    if pts and seeks(stream, packets):
        starts_at = {p.pts for p in packets if p.is_keyframe and p.pts is not None}
        keyframes = compact(starts_at & {*pts} if counted else starts_at)
    damaged, why = reported(packets, starts, pts)
    if damaged and not pts:
        raise av.InvalidDataError(0, f"{why}, and without times its frames cannot be told apart")
    if pts and spoilt:
        damaged, why = sorted({*damaged, *spoilt}), why if damaged else "says the decoder"
    height, width = stream.codec_context.height, stream.codec_context.width
    return FrameTable(
        pts=pts,
        time_base=base,
        keyframes=keyframes,
        count=len(shown),
        seconds=seconds,
        height=height,
        width=width,
        shown=() if sampled is pts else compact(sampled),  # not stored twice
        damaged=compact(damaged),
        damage=why if damaged else "",
        counted=counted,
        gap=gap_text(times, base),
        matrix=_first_matrix(path) if packets[0].turns else "",
    )


def _first_matrix(path: Path) -> str:
    """Return the display matrix of the first frame; FFmpeg gives none to the frames after it."""
    with open_video(path) as container:
        frame = next(container.decode(video_stream(container)))
        return bytes(side_data(frame).get("DISPLAYMATRIX", b"")).hex()


def _shown(packets: Sequence[Seen]) -> list[Seen]:
    """Return the packets whose frames are shown; an edit list may hide frames to which shown frames refer."""
    shown = [packet for packet in packets if not packet.is_discard and not packet.is_hidden]
    # drop the frames shown before the first key frame: Matroska cannot store their (negative) times
    if shown and shown[0].pts is not None:
        del shown[1 : next((i for i, packet in enumerate(shown) if i and packet.pts is not None), 1)]
    return shown


def _decoded(path: Path, inside: bool) -> tuple[list[Seen], list[int]]:
    """Decode a whole video; return its frames' times in display order, and the numbers of those damage spoils.

    A stream that begins ``inside`` a group of pictures has no frames before its first key frame, whatever FFmpeg shows.
    """
    frames = list[tuple[Seen, bool]]()
    with open_video(path) as container:
        for frame, is_spoiled in judged(container, timed=True):
            frames.append((Seen(frame.pts, frame.dts, frame.duration, bool(frame.key_frame)), is_spoiled))
    if not frames:
        raise av.InvalidDataError(0, "no frame can be decoded")
    if inside:
        first = next((i for i, (frame, _) in enumerate(frames) if frame.is_keyframe), 0)
        del frames[:first]
    return [frame for frame, _ in frames], [i for i, (_, is_spoiled) in enumerate(frames) if is_spoiled]


def _identify(path: Path, container: InputContainer, stream: VideoStream, shown: Sequence[Seen], counted: bool) -> bool:
    """Return whether the times of packets or ``counted`` frames, which are all different, are presentation times.

    AVI and streams without a container have no presentation times. If the decoder reorders frames, ascending times may
    be decoding times that are stored as presentation times (ASF, bad copies). Then the first decoded frames decide.
    """
    if container.format.name == "avi" or container.format.flags & NO_TIMESTAMPS or stream.time_base is None:
        return False
    if counted:
        return all((a.pts or 0) < (b.pts or 0) for a, b in pairwise(shown))
    reorders = stream.codec_context.has_b_frames and not all(packet.is_keyframe for packet in shown)
    if not reorders or any((a.pts or 0) > (b.pts or 0) for a, b in pairwise(shown)):
        return True
    times = []
    with suppress(av.FFmpegError), open_video(path) as again:
        times = [frame.pts or 0 for frame in islice(again.decode(video_stream(again)), FIRST)]
    return times == sorted(times)


def _clock(container: InputContainer, shown: Sequence[Seen]) -> list[int]:
    """Return decoding times, which have the same steps as presentation times; empty if unknown or not ascending."""
    times = [packet.dts for packet in shown if packet.dts is not None]
    if container.format.flags & NO_TIMESTAMPS or len(times) < len(shown) or times != sorted({*times}):
        return []
    return times


def _check_end(container: InputContainer, stream: VideoStream, path: Path, packets: Sequence[Seen]) -> None:
    """Raise an ``av.InvalidDataError`` if the header announces more than the packets hold."""
    times = sorted({packet.pts for packet in packets if packet.pts is not None})
    if not times or stream.time_base is None:
        return
    usual = usual_step(times) if len(times) > 1 else 1
    last = max((packet.duration or 0 for packet in packets[-TAIL:] if packet.pts == times[-1]), default=0)
    base = stream.time_base
    end = times[-1] + max(last, usual)
    check_end(container, stream, path, first=float(times[0] * base), end=float(end * base), step=float(usual * base))


def _seconds(
    container: InputContainer, stream: VideoStream, shown: Sequence[Seen], times: Sequence[int], sampled: Sequence[int]
) -> Fraction:
    """Return the duration, last frame included."""
    base = Fraction(stream.time_base or 1)
    rate = Fraction(stream.average_rate or USUAL_RATE)
    if container.format.flags & NO_TIMESTAMPS:
        rate = Fraction(stream.guessed_rate or rate)  # the header's; the other is FFmpeg's usual rate
    if not times:
        return len(shown) / rate
    step = 1 / rate
    if len(sampled) > 1:
        step = (sampled[-1] - sampled[-2]) * base  # also the last frame's duration
    return (sampled[-1] - sampled[0]) * base + step


def exact(number: float) -> Fraction:
    """Return a time or rate as an exact fraction, because the float 0.1 is slightly later than a frame at 0.1 s."""
    return Fraction(number).limit_denominator(10**6)


def compact(times: Iterable[int]) -> Sequence[int]:
    """Sort times; return a range if they are evenly spaced (the usual case), to save memory."""
    ordered = sorted(times)
    if not ordered:
        return ()
    if len(ordered) > 1:
        even = range(ordered[0], ordered[-1] + 1, ordered[1] - ordered[0] or 1)
        if len(even) == len(ordered) and list(even) == ordered:
            return even
    return array("q", ordered)


def segment(path: Path, table: FrameTable, start: float | None, end: float | None) -> tuple[int, FrameTable]:
    """Return the first frame and the table of a segment in seconds; ``None`` is the start or end of the video."""
    if start is None and end is None:
        return 0, table
    begin, wanted = exact(start or 0.0), table.seconds if end is None else exact(end)
    stop = min(wanted, table.seconds)
    if not 0 <= begin < stop:
        span = f"{float(begin):g} to {float(wanted):g} s"
        raise DecodeError(f"{path}: no segment from {span} in a video of {float(table.seconds):.2f} s")
    if table.times:
        first, last = (bisect_left(table.times, table.times[0] + t / table.time_base) for t in (begin, stop))
    else:
        first, last = (ceil(t * table.count / table.seconds) for t in (begin, stop))
    first = min(first, table.count - 1)
    last = max(last, first + 1)
    pts, shown = table.pts[first:last], table.shown[first:last]
    return first, replace(table, pts=pts, shown=shown, count=last - first, seconds=stop - begin)


def looped(table: FrameTable, seconds: Fraction) -> FrameTable:
    """Repeat a video for sampling until it lasts ``seconds``; frame ``i`` is the video's frame ``i % table.count``."""
    if table.seconds >= seconds:
        return table
    rounds = ceil(seconds / table.seconds)
    if not table.times:
        return replace(table, count=ceil(seconds * table.count / table.seconds), seconds=seconds)
    length = table.seconds / table.time_base
    # a finer unit makes all times whole numbers
    unit, start = length.denominator, table.times[0]
    times = [unit * (time - start) + int(unit * length) * i for i in range(rounds) for time in table.times]
    base = table.time_base / unit
    times = times[: bisect_left(times, seconds / base)]
    return replace(table, pts=times, shown=(), time_base=base, count=len(times), seconds=seconds)
