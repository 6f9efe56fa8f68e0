"""Frame table of a part of a video, or of a video whose timestamps start again."""

from bisect import bisect_left
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.frame_table import FrameTable, exact


def segment(path: Path, table: FrameTable, start: float | None, end: float | None) -> tuple[int, FrameTable]:
    """Return the part of a video from ``start`` to ``end``, in seconds from its first frame, like a whole video.

    Returns the number of its first frame, and its own table of at least one; ``None`` is the beginning or the end.
    Raises a :class:`DecodeError` for a segment outside the video.
    """
    if start is None and end is None:
        return 0, table
    begin, stop = exact(start or 0.0), table.seconds if end is None else min(exact(end), table.seconds)
    if not 0 <= begin < stop:
        span = f"{start or 0:g} to {'its end' if end is None else f'{end:g} s'}"
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
    """Repeat a video until it is this long, for sampling: frame ``i`` is ``i % table.count``.

    A video of this length or more is returned unchanged.
    """
    if table.seconds >= seconds:
        return table
    rounds = ceil(seconds / table.seconds)
    if not table.times:
        count = ceil(seconds * table.count / table.seconds)
        return replace(table, count=count, seconds=seconds)
    length = table.seconds / table.time_base
    # times are whole numbers of another unit if a round is none
    unit, start = length.denominator, table.times[0]
    times = [unit * (time - start) + int(unit * length) * i for i in range(rounds) for time in table.times]
    base = table.time_base / unit
    times = times[: bisect_left(times, seconds / base)]
    return replace(table, pts=times, shown=(), time_base=base, count=len(times), seconds=seconds)
