"""The frames of a video, their times, and where decoding can start: read from its packets, nothing is decoded."""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from lit_video.video.decoding.container import (
    Seen,
    ends_early,
    keep,
    open_video,
    reason,
    refusal,
    scanned_stream,
    seeks,
    seen,
    video_stream,
)
from lit_video.video.decoding.damage import gaps, joints, verdict, without_jumps

Frames = NDArray[np.uint8]
T = TypeVar("T")

TAIL = 32  # packets among which the last frame's is
NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS: FFmpeg makes times up
FIRST = 64  # frames that would show a wrong order
ODD = 3  # frames that a header promises too many, to be reported
RUNS = 3  # runs of frames that a message names


class DecodeError(RuntimeError):
    """A video that cannot be read, with its path and the reason."""


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
        texts, times = [], self.times
        for run in runs[:RUNS]:
            ends = sorted({run[0], run[-1]})
            at = " to ".join(f"{float((times[i] - times[0]) * self.time_base):.2f}" for i in ends) if times else ""
            numbered = "frame" if len(ends) == 1 else "frames"
            texts.append(f"{numbered} {' to '.join(map(str, ends))}" + (f" ({at} s)" if at else ""))
        more = sum(map(len, runs[RUNS:]))
        return ", ".join(texts) + (f" and {more} more" if more else "")


_caches: list["TableCache[Any]"] = []


class TableCache(OrderedDict[Path, T]):
    """Tables by path, the one used last at the end: a worker's memory stays flat for any number and length of videos.

    The bound ``most`` is on the ``times`` of all tables together, 8 bytes each, as one hour of video has as many as a
    thousand short clips; 4 million are about 32 MiB. A table itself counts as 256 of them, for what it holds beside;
    the last one is kept however long.
    """

    def __init__(self, times: Callable[[T], int], most: int = 4_000_000) -> None:
        super().__init__()
        self.times, self.most, self.total = times, most, 0
        _caches.append(self)

    def __call__(self, read: Callable[[Path], T]) -> Callable[[Path], T]:
        """Decorate a function that reads a path's table."""

        @wraps(read)
        def kept(path: Path) -> T:
            if path in self:
                self.move_to_end(path)
            else:
                self.add(path, read(path))
            return self[path]

        return kept

    def add(self, path: Path, table: T) -> None:
        """Keep a table, and drop those that were used longest ago."""
        self[path] = table
        self.total += self.times(table) + 256
        while self.total > self.most and len(self) > 1:
            self.total -= self.times(self.popitem(last=False)[1]) + 256

    def clear(self) -> None:
        """Drop all tables."""
        super().clear()
        self.total = 0


@TableCache[FrameTable](lambda table: len(table.pts) + len(table.shown) + len(table.keyframes))
def frame_table(path: Path) -> FrameTable:
    """Scan a video's packets (1-3 ms for ten seconds); the tables used last are kept, per process.

    Raises:
        DecodeError: the file cannot be opened, or holds no video.
    """
    return next(filter(None, (source(path) for source in _sources)), None) or _scan(path)


_sources: list[Callable[[Path], FrameTable | None]] = []


def add_source(source: Callable[[Path], FrameTable | None]) -> None:
    """Try a function for a video's table before its packets are scanned, in this process; added once only."""
    if source not in _sources:
        _sources.append(source)


def forget_tables() -> None:
    """Look at all videos again, at folders of images too: files may have changed."""
    for cache in _caches:
        cache.clear()


def check_numbers(path: Path, numbers: Sequence[int], count: int) -> None:
    """Refuse frame numbers that a video does not have.

    Raises:
        IndexError: there are some.
    """
    beyond = [i for i in numbers if not 0 <= i < count]
    if beyond:
        raise IndexError(f"{path}: frames {beyond} of a video with {count} frames")


def stacked(path: Path, images: list[Frames]) -> Frames:
    """Stack images ``(height, width, 3)`` into one array.

    Raises:
        DecodeError: they have several sizes.
    """
    sizes = sorted({image.shape[:2] for image in images})
    if len(sizes) > 1:
        (a, b), (c, d) = sizes[0], sizes[-1]
        raise DecodeError(f"{path}: its frames have several sizes, {b}x{a} and {d}x{c}")
    return np.stack(images)


def check_sound(path: Path, table: FrameTable, numbers: Sequence[int]) -> None:
    """Refuse frames that are known to be damaged.

    Raises:
        DecodeError: there are some, with their times and the reason.
    """
    if damaged := sorted({*numbers}.intersection(table.damaged)) if table.damaged else []:
        raise DecodeError(f"{path}: {table.where(damaged)} damaged: {table.damage}")


def _scan(path: Path) -> FrameTable:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe could wait for its writer for ever
            raise DecodeError(f"{path}: neither a file nor a folder")
        container = open_video(path)
        stream = video_stream(container)
        if stream is None:
            unknown = any(each.codec_context is None for each in container.streams.video)
            raise DecodeError(f"{path}: no video stream" + " that FFmpeg has a decoder for" * unknown)
        if why := refusal(container, stream, path):
            raise DecodeError(f"{path}: {why}")
        # numbers of packets, not contents, which together are the whole file
        table = _table(path, container, stream, [seen(packet) for packet in container.demux(stream) if packet.size])
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: {reason(error)}") from error
    keep(path, container)
    return table


def _table(path: Path, container: InputContainer, stream: VideoStream, packets: Sequence[Seen]) -> FrameTable:
    shown = [p for p in packets if not p.is_discard]  # an edit list hides frames that others refer to
    # Matroska has no time below 0 for pictures that are shown before the first key frame
    late = next((i for i, p in enumerate(shown) if i and p.pts is not None), 1)
    shown = shown[:1] + shown[late:] if shown and shown[0].pts is not None else shown
    if not shown:
        raise DecodeError(f"{path}: the video stream is empty")
    base, rate = Fraction(stream.time_base or 1), Fraction(stream.average_rate or 25)
    _, back = joints(packets, base)
    pts = compact({p.pts for p in shown if p.pts is not None})
    if back or len(pts) < len(shown) or not _identify(path, container, stream, shown):
        pts = ()
    times = pts if pts or back else compact(_clock(container, shown))
    found = gaps(times, base)
    contracted = without_jumps(times, found)
    seconds = _seconds(contracted or times, base, rate) if times else len(shown) / rate
    if times:
        step = (times[-1] - times[-2]) * base if len(times) > 1 else 1 / rate
        last = max((p.duration or 0 for p in shown[-TAIL:] if p.pts == times[-1]), default=0)
        end = times[-1] * base + max(last * base, step)
        if why := ends_early(container, stream, float(times[0] * base), float(end), float(found.usual * base or step)):
            raise DecodeError(f"{path}: {why}")
    starts = [p.pts for p in packets if p.is_keyframe and p.pts is not None] if seeks(stream, packets) else []
    damaged, why, suspicion = verdict(container, packets, pts, times, found)
    if damaged and not pts:
        raise DecodeError(f"{path}: {why}, and without times its frames cannot be told apart")
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
        suspicion or back or _promise(container, stream, shown, times),
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
        times = [frame.pts or 0 for frame in islice(again.decode(scanned_stream(again)), FIRST)]
    return times == sorted(times)


def _clock(container: InputContainer, shown: Sequence[Seen]) -> list[int]:
    """Return the times of decoding, in the steps in which frames are shown; empty if unknown or equal."""
    times = [p.dts for p in shown if p.dts is not None]
    even = len(times) == len(shown) and all(a < b for a, b in pairwise(times))
    return times if even and not container.format.flags & NO_TIMESTAMPS else []


def _promise(container: InputContainer, stream: VideoStream, shown: Sequence[Seen], times: Sequence[int]) -> str:
    """Describe frames that AVI's header counts and the file lacks, or an empty string."""
    there = 2 * times[-1] - times[-2] if len(times) > 1 else len(shown)
    if container.format.name != "avi" or stream.frames - max(there, len(shown)) <= ODD:
        return ""
    return f"the header promises {stream.frames} frames, {len(shown)} are there"


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
