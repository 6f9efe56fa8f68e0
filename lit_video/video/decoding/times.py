"""Times of a video's frames: gaps, jumps, and places where a stream restarts."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from lit_video.utils.text import plural
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
