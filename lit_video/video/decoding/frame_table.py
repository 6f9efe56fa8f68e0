"""The frames of a video, their times, and where decoding can start: read from its packets, nothing is decoded."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, islice, pairwise
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from lit_video.video.decoding.container import (
    DecodeError,
    Seen,
    check_end,
    check_file,
    keep,
    open_video,
    reading,
    seeks,
    seen,
    video_stream,
)
from lit_video.video.decoding.damage import gaps, joints, verdict, without_jumps

Frames = NDArray[np.uint8]

KEPT = 2**14  # tables in memory; one of an even rate takes about 2 kB, others 8 bytes a frame more
TAIL = 32  # packets among which the last frame's is
NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS: FFmpeg makes times up
FIRST = 64  # frames that would show a wrong order
RUNS = 3  # runs of frames that a message names


@dataclass(frozen=True)
class FrameTable:
    """The frames of a video in display order."""

    # presentation time of every frame, in units of time_base, ascending; empty if the packets carry none
    pts: Sequence[int]
    time_base: Fraction  # seconds per unit of pts
    # presentation times of the frames where decoding can start, ascending; empty if it can only start at the first one
    keyframes: Sequence[int]
    count: int  # number of frames
    seconds: Fraction  # duration, last frame included
    height: int  # rows of a decoded frame before it is turned
    width: int  # columns of a decoded frame before it is turned
    # times for sampling where pts are not: without their jumps, or of frames that are counted
    shown: Sequence[int] = ()
    damaged: Sequence[int] = ()  # numbers of the frames that are known to be damaged, ascending
    damage: str = ""  # why they are
    suspicion: str = ""  # oddity of a video of which no frame is known to be damaged

    @property
    def times(self) -> Sequence[int]:
        """When frames are shown, in units of ``time_base``; empty if the packets do not say."""
        return self.shown or self.pts

    def seconds_at(self, number: int) -> float:
        """When a frame is shown, in seconds from the first one."""
        times = self.pts or self.shown
        return float((times[number] - times[0]) * self.time_base if times else number * self.seconds / self.count)

    def where(self, numbers: Sequence[int]) -> str:
        """Name frames and their times: ``frames 72 to 95 (2.88 to 3.80 s)``; the first ones of many."""
        runs = [[n for _, n in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
        texts = []
        for run in runs[:RUNS]:
            ends = sorted({run[0], run[-1]})
            numbered, at = " to ".join(map(str, ends)), " to ".join(f"{self.seconds_at(i):.2f}" for i in ends)
            texts.append(f"frame{'s' * (len(ends) > 1)} {numbered} ({at} s)")
        more = sum(map(len, runs[RUNS:]))
        return ", ".join(texts) + (f" and {more} more" if more else "")


@lru_cache(KEPT)
def frame_table(path: Path) -> FrameTable:
    """Scan a video's packets (1-3 ms for ten seconds), or raise a :class:`DecodeError`; the last tables are kept."""
    return next(filter(None, (source(path) for source in _sources)), None) or _scan(path)


_sources: list[Callable[[Path], FrameTable | None]] = []


def add_source(source: Callable[[Path], FrameTable | None]) -> None:
    """Try a function for a video's table before its packets are scanned, in this process; added once only."""
    if source not in _sources:
        _sources.append(source)


def check_numbers(path: Path, numbers: Sequence[int], count: int) -> None:
    """Raise an :class:`IndexError` for frame numbers that a video does not have."""
    if beyond := [i for i in numbers if not 0 <= i < count]:
        raise IndexError(f"{path}: frames {beyond} of a video with {count} frames")


def stacked(path: Path, images: list[Frames]) -> Frames:
    """Stack images ``(height, width, 3)`` into one array; raises a :class:`DecodeError` for several sizes."""
    sizes = sorted({image.shape[:2] for image in images})
    if len(sizes) > 1:
        (a, b), (c, d) = sizes[0], sizes[-1]
        raise DecodeError(f"{path}: its frames have several sizes, {b}x{a} and {d}x{c}")
    return np.stack(images)


def check_sound(path: Path, table: FrameTable, numbers: Sequence[int]) -> None:
    """Raise a :class:`DecodeError`, with times and the reason, for frames that are known to be damaged."""
    if damaged := sorted({*numbers}.intersection(table.damaged)) if table.damaged else []:
        raise DecodeError(f"{path}: {table.where(damaged)} damaged: {table.damage}")


def _scan(path: Path) -> FrameTable:
    with reading(path):
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe could wait for its writer for ever
            raise OSError(0, "neither a file nor a folder")
        container = open_video(path)
        stream = video_stream(container)
        check_file(container, stream, path)
        # numbers of packets, not contents, which together are the whole file
        table = _table(path, container, stream, [seen(packet) for packet in container.demux(stream) if packet.size])
    keep(path, container)
    return table


def _table(path: Path, container: InputContainer, stream: VideoStream, packets: Sequence[Seen]) -> FrameTable:
    shown = [p for p in packets if not p.is_discard]  # an edit list hides frames that others refer to
    # Matroska has no time below 0 for pictures that are shown before the first key frame
    late = next((i for i, p in enumerate(shown) if i and p.pts is not None), 1)
    shown = shown[:1] + shown[late:] if shown and shown[0].pts is not None else shown
    if not shown:
        raise av.InvalidDataError(0, "the video stream is empty")
    base, rate = Fraction(stream.time_base or 1), Fraction(stream.average_rate or 25)
    fallen = next((seconds for seconds in joints(packets, base).values() if seconds > 0), 0.0)
    back = f"time jumps back by {fallen:,.2f} s, so frames are counted" if fallen else ""
    pts = compact({p.pts for p in shown if p.pts is not None})
    if back or len(pts) < len(shown) or not _identify(path, container, stream, shown):
        pts = ()
    times = pts if pts or back else compact(_clock(container, shown))
    found = gaps(times, base, stream.codec_context.codec.canonical_name)
    contracted = without_jumps(times, found)
    seconds = _seconds(contracted or times, base, rate) if times else len(shown) / rate
    if times:
        step = (times[-1] - times[-2]) * base if len(times) > 1 else 1 / rate
        last = max((p.duration or 0 for p in shown[-TAIL:] if p.pts == times[-1]), default=0)
        end = times[-1] * base + max(last * base, step)
        check_end(container, stream, float(times[0] * base), float(end), float(found.usual * base or step))
    starts = [p.pts for p in packets if p.is_keyframe and p.pts is not None] if seeks(stream, packets) else []
    damaged, why, suspicion = verdict(packets, pts, times, found, stream)
    if damaged and not pts:
        raise av.InvalidDataError(0, f"{why}, and without times its frames cannot be told apart")
    return FrameTable(
        pts,
        base,
        compact(starts if pts else ()),
        len(shown),
        seconds,
        stream.codec_context.height,
        stream.codec_context.width,
        compact(contracted or (() if pts else times)),
        compact(damaged),
        why if damaged else "",
        suspicion or back,
    )


def _identify(path: Path, container: InputContainer, stream: VideoStream, shown: Sequence[Seen]) -> bool:
    """Return whether the times of packets, all different, are those at which their frames are shown.

    AVI and streams without a container have no such times. Where frames come out of the decoder in another order than
    they go in, ascending times are those of decoding, under a wrong name (ASF, bad copies).
    """
    if container.format.name == "avi" or container.format.flags & NO_TIMESTAMPS or stream.time_base is None:
        return False
    reorders = stream.codec_context.has_b_frames and not all(p.is_keyframe for p in shown)
    if not reorders or any((a.pts or 0) > (b.pts or 0) for a, b in pairwise(shown)):
        return True
    times = []
    with suppress(av.FFmpegError), open_video(path) as again:
        times = [frame.pts or 0 for frame in islice(again.decode(video_stream(again)), FIRST)]
    return times == sorted(times)


def _clock(container: InputContainer, shown: Sequence[Seen]) -> list[int]:
    """Return the times of decoding, in the steps in which frames are shown; empty if unknown or equal."""
    times = [p.dts for p in shown if p.dts is not None]
    even = len(times) == len(shown) and all(a < b for a, b in pairwise(times))
    return times if even and not container.format.flags & NO_TIMESTAMPS else []


def exact(number: float) -> Fraction:
    """Return the exact time or rate: 0.1 as a float is a little later than the frame shown at 0.1 s."""
    return Fraction(number).limit_denominator(10**6)


def compact(times: Iterable[int]) -> Sequence[int]:
    """Ascending times: a range where they are even (nearly always), else 8 bytes each: a worker holds many tables."""
    ordered = sorted(times)
    if not ordered:
        return ()
    if len(ordered) > 1:
        even = range(ordered[0], ordered[-1] + 1, ordered[1] - ordered[0] or 1)
        if len(even) == len(ordered) and list(even) == ordered:
            return even
    return array("q", ordered)


def _seconds(pts: Sequence[int], time_base: Fraction, rate: Fraction) -> Fraction:
    """Return the seconds from the first frame to the end of the last, which lasts as long as its predecessor."""
    step = (pts[-1] - pts[-2]) * time_base if len(pts) > 1 else 1 / Fraction(rate)
    return (pts[-1] - pts[0]) * time_base + step
