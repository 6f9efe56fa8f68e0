"""Table of a video's frames: their number, times and gaps, key frames, known damage; parts and repeats of a table."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from math import ceil
from pathlib import Path

import numpy as np

from lit_video.utils.text import plural
from lit_video.video.decoding.container import DecodeError
from lit_video.video.decoding.packets import Seen

LONG = 1.75  # a step of more than this many usual steps is a gap; 2:3 pulldown has steps of 1.5
VARYING = 1 / 8  # if a larger share of the steps is long, the frame rate varies, and only long pauses count as gaps
LONG_PAUSE = 1  # seconds
JUMP = 10  # a gap of more than this many seconds, and of more than this many usual steps, is a jump


def usual_step(times: Sequence[int]) -> int:
    """Return the median step of ascending times."""
    if isinstance(times, range):
        return times.step
    if len(times) < 2:
        return 1

    steps = np.diff(np.asarray(times))
    middle = len(steps) // 2
    return int(np.partition(steps, middle)[middle])


def frames_before_gaps(times: Sequence[int], base: Fraction) -> list[int]:
    """Return the numbers of the frames before gaps in ascending times; ``base`` is their unit in seconds."""
    if isinstance(times, range) or len(times) < 3:
        return []

    steps = np.diff(np.asarray(times))
    long = steps > LONG * usual_step(times)
    if long.sum() > VARYING * len(steps):
        long &= steps >= float(LONG_PAUSE / base)
    return np.flatnonzero(long).tolist()


def gap_text(times: Sequence[int], base: Fraction) -> str:
    """Describe the gaps in ascending times; return an empty text without gaps."""
    before = frames_before_gaps(times, base)
    if not before:
        return ""

    first = before[0]
    length = float((times[first + 1] - times[first]) * base)
    start = float((times[first] - times[0]) * base)
    text = f"{length:.2f} s without a frame at {start:.2f} s"
    if len(before) > 1:
        text = f"{plural(len(before), 'gap')}, the first of them {text}"
    return f"{text}: a pause, or lost data"


def without_jumps(times: Sequence[int], base: Fraction) -> Sequence[int]:
    """Return ascending times after replacing each jump by the usual step, so that sampling spans the frames."""
    if isinstance(times, range) or len(times) < 3:
        return times

    steps = np.diff(np.asarray(times))
    usual = usual_step(times)
    jumps = steps > JUMP * max(usual, float(1 / base))
    if not jumps.any():
        return times

    steps[jumps] = usual
    return [*accumulate(steps.tolist(), initial=times[0])]


def restarts(packets: Sequence[Seen], base: Fraction) -> dict[int, bool]:
    """Find packets where a stream restarts; the value is True if time goes back, False if it jumps ahead."""
    places = [position for position, packet in enumerate(packets) if packet.dts is not None]
    dts = np.array([packets[place].dts for place in places], np.int64)
    pts = np.array([packets[place].pts or 0 for place in places], np.int64)
    has_pts = np.array([packets[place].pts is not None for place in places], bool)
    steps = np.diff(dts)
    steps = np.where(has_pts[1:] & has_pts[:-1], np.maximum(steps, np.diff(pts)), steps)

    # a small step back in time is a restart only if it leads to the beginning
    is_usual = (steps >= int(-1 / base)) & (steps <= int(JUMP / base))
    leads_back = (steps < 0) & (dts[1:] <= dts[:1])
    begins = np.flatnonzero(~is_usual | leads_back).tolist()
    return {places[place + 1]: bool(steps[place] < 0) for place in begins}


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
    lead: Fraction = Fraction(0)  # seconds of the file, of sound for example, before the first frame
    gap: str = ""  # description of gaps in time, which may be pauses or lost data
    matrix: str = ""  # display matrix for frames that have none of their own, in hexadecimal digits

    @property
    def times(self) -> Sequence[int]:
        """Display times of the frames, in units of ``time_base``; empty if unknown."""
        return self.shown or self.pts

    @property
    def end(self) -> Fraction:
        """End of the last frame in seconds after the first one, with the pauses that ``seconds`` leaves out."""
        if not self.pts:
            return self.seconds
        return self.seconds + _left_out(self.pts, self.times, self.time_base)

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

    Seconds count from the start of the file, as in players and tools of annotation: its sound may begin first.

    Raises:
        DecodeError: the segment is empty, or begins after the end of the video.
    """
    if start is None and end is None:
        return 0, table

    begin = exact(start or 0.0) - table.lead
    wanted_end = table.end if end is None else exact(end) - table.lead
    stop = min(wanted_end, table.end)
    if (start or 0.0) < 0 or max(begin, Fraction(0)) >= stop:
        span = f"{float(begin + table.lead):g} to {float(wanted_end + table.lead):g} s"
        lead = f" whose pictures begin at {float(table.lead):.2f} s" if table.lead else ""
        raise DecodeError(f"{path}: no segment from {span} in a video of {float(table.end):.2f} s{lead}")
    begin = max(begin, Fraction(0))

    # a segment has at least one frame; a frame that is held over its beginning is shown from there
    true_times = table.pts or table.shown
    first = min(_frames_before(table, begin), table.count - 1)
    begins_in_gap = _is_in_gap(true_times, first, begin / table.time_base)
    if begins_in_gap:
        first -= 1
    last = max(_frames_before(table, stop), first + 1)
    pts = table.pts[first:last]
    times = pts or table.shown[first:last]
    if begins_in_gap:
        times = compact([true_times[0] + ceil(begin / table.time_base), *times[1:]])

    # sample it like a video of its own, without jumps
    sampled = without_jumps(times, table.time_base)
    part = replace(
        table,
        pts=pts,
        shown=() if sampled is pts else sampled,
        count=last - first,
        seconds=stop - begin - _left_out(times, sampled, table.time_base),
    )
    return first, part


def _left_out(times: Sequence[int], sampled: Sequence[int], time_base: Fraction) -> Fraction:
    """Return how many seconds of the frames' true times their times for sampling leave out."""
    if not times:
        return Fraction(0)
    return ((times[-1] - times[0]) - (sampled[-1] - sampled[0])) * time_base


def _frames_before(table: FrameTable, seconds: Fraction) -> int:
    """Return how many frames a video shows before a moment, in seconds after the first frame."""
    times = table.pts or table.shown
    if not times:
        return ceil(seconds * table.count / table.seconds)
    return bisect_left(times, times[0] + seconds / table.time_base)


def _is_in_gap(times: Sequence[int], number: int, moment: Fraction) -> bool:
    """Return whether a moment, counted from the first frame, lies in a gap right before a frame."""
    if not times or number == 0 or times[0] + moment >= times[number]:
        return False
    return times[number] - times[number - 1] > LONG * usual_step(times)


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
