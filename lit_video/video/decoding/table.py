"""Table of a video's frames: their number, times, key frames and known damage; parts and repeats of a table."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from lit_video.video.decoding.container import DecodeError


@dataclass(frozen=True, kw_only=True)
class FrameTable:
    """The frames of a video in display order; all times and numbers are ascending."""

    pts: Sequence[int]  # presentation time of every frame, in units of time_base; empty if the packets carry no times
    time_base: Fraction  # seconds per unit of pts
    keyframes: Sequence[int]  # presentation times at which decoding can start; empty if only at the first frame
    count: int  # number of frames
    seconds: Fraction  # duration, last frame included
    height: int  # rows of a decoded frame, before rotation
    width: int
    shown: Sequence[int] = ()  # times for sampling if they differ from pts: pts without jumps, or decoding times
    damaged: Sequence[int] = ()  # numbers of the frames that are known to be damaged
    damage: str = ""  # reason of the damage
    counted: bool = False  # True if the frames were found by decoding, because packets may not be frames
    gap: str = ""  # description of gaps in time, which may be pauses or lost data
    matrix: str = ""  # display matrix for frames that have none of their own, in hexadecimal digits

    @property
    def times(self) -> Sequence[int]:
        """Display times of the frames, in units of ``time_base``; empty if unknown."""
        return self.shown or self.pts

    def seconds_at(self, number: int) -> float:
        """Return when a frame is shown, in seconds after the first frame."""
        times = self.pts or self.shown
        if not times:
            return float(number * self.seconds / self.count)
        return float((times[number] - times[0]) * self.time_base)

    def where(self, numbers: Sequence[int]) -> str:
        """Name the first of some frames, with its time, and count the others: ``frame 72 (2.88 s) and 23 more``."""
        first = f"frame {numbers[0]} ({self.seconds_at(numbers[0]):.2f} s)"
        if len(numbers) == 1:
            return first
        return f"{first} and {len(numbers) - 1} more"


def exact(number: float) -> Fraction:
    """Return a time or rate as an exact fraction, because the float 0.1 is slightly later than a frame at 0.1 s."""
    return Fraction(number).limit_denominator(10**6)


def compact(times: Iterable[int]) -> Sequence[int]:
    """Sort times; return a range if they are evenly spaced (the usual case), to save memory."""
    ordered = sorted(times)
    if not ordered:
        return ()

    if len(ordered) > 1:
        step = ordered[1] - ordered[0] or 1
        even = range(ordered[0], ordered[-1] + 1, step)
        if len(even) == len(ordered) and list(even) == ordered:
            return even
    return array("q", ordered)


def segment(path: Path, table: FrameTable, *, start: float | None, end: float | None) -> tuple[int, FrameTable]:
    """Return the first frame and the table of a segment in seconds; ``None`` is the start or end of the video.

    Raises:
        DecodeError: the segment is empty, or begins after the end of the video.
    """
    if start is None and end is None:
        return 0, table

    begin = exact(start or 0.0)
    wanted_end = table.seconds if end is None else exact(end)
    stop = min(wanted_end, table.seconds)
    if not 0 <= begin < stop:
        span = f"{float(begin):g} to {float(wanted_end):g} s"
        raise DecodeError(f"{path}: no segment from {span} in a video of {float(table.seconds):.2f} s")

    # a segment has at least one frame
    first = min(_frames_before(table, begin), table.count - 1)
    last = max(_frames_before(table, stop), first + 1)
    part = replace(
        table,
        pts=table.pts[first:last],
        shown=table.shown[first:last],
        count=last - first,
        seconds=stop - begin,
    )
    return first, part


def _frames_before(table: FrameTable, seconds: Fraction) -> int:
    """Return how many frames a video shows before a moment."""
    if not table.times:
        return ceil(seconds * table.count / table.seconds)
    return bisect_left(table.times, table.times[0] + seconds / table.time_base)


def looped(table: FrameTable, seconds: Fraction) -> FrameTable:
    """Repeat a video for sampling until it lasts ``seconds``; frame ``i`` is the video's frame ``i % table.count``."""
    if table.seconds >= seconds:
        return table
    if not table.times:
        return replace(table, count=ceil(seconds * table.count / table.seconds), seconds=seconds)

    # a finer unit makes all times whole numbers
    length = table.seconds / table.time_base
    unit = length.denominator
    time_base = table.time_base / unit

    start = table.times[0]
    times: list[int] = []
    for turn in range(ceil(seconds / table.seconds)):
        begin = int(unit * length) * turn
        times += [begin + unit * (time - start) for time in table.times]
    times = times[: bisect_left(times, seconds / time_base)]
    return replace(table, pts=times, shown=(), time_base=time_base, count=len(times), seconds=seconds)
