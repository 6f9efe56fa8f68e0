"""Damage of a video that its packets show, without decoding: the unit of damage is a group of pictures.

A packet that is marked as corrupt, cannot be decoded or is missing spoils every frame from the key frame before it to
the next one, and frames behind the next one that are shown before it, because they refer to both groups.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from av.container import InputContainer

from lit_video.video.decoding.container import Seen, scanned_stream

JUMP = 10  # seconds without a frame, and as many usual steps: longer than a pause
REPORTED = 4  # usual steps without a frame that are reported, where they are no loss
SEVERAL = 1 / 8  # share of gaps in an even rate; more are a variable rate
JOINT = 4  # packets before a new beginning that may be marked as corrupt
_FREE = {"gif", "apng", "webp"}  # codecs of animations, whose rate varies and whose files lose no packets
_PAUSING = {"h264", "hevc"}  # decoders report pictures that refer to a lost one


def spoiled(pts: Sequence[int], keys: Sequence[int], damaged: Collection[int]) -> list[int]:
    """Return the numbers of frames that are unusable if those at some times are damaged.

    A damaged key frame spoils the group before it too, in which its damage may have begun without a sign. Frames
    before the first key frame are unusable, unless there is none.

    Args:
        pts: times at which frames are shown, ascending.
        keys: times of key frames, ascending.
        damaged: times of frames.
    """
    if not damaged and (not keys or pts[0] >= keys[0]):
        return []
    groups = {bisect_right(keys, time) for time in damaged} | {bisect_left(keys, time) for time in damaged}
    groups |= {0} if keys else set()
    return [i for i, time in enumerate(pts) if bisect_right(keys, time) in groups]


class Gaps(NamedTuple):
    """Gaps in times: the usual step, frames before gaps in a rate that is even but for them, frames before jumps."""

    usual: int = 1
    after: Sequence[int] = ()
    jumps: Collection[int] = ()


def gaps(times: Sequence[int], base: Fraction) -> Gaps:
    """Find gaps in ascending times; an even sequence, a range, has none."""
    if isinstance(times, range) or len(times) < 3:
        return Gaps()
    steps = np.diff(np.asarray(times))
    usual = int(np.partition(steps, len(steps) // 2)[len(steps) // 2])
    long = 2 * steps > 3 * usual
    mean = steps[~long].mean()
    off = np.abs(steps - np.rint(steps / mean) * mean)[steps < (REPORTED - 0.5) * mean]
    even = long.sum() <= SEVERAL * len(steps) and (off <= 1 + mean / 10).all()
    jumps = np.flatnonzero(steps > JUMP * max(usual, float(1 / base))).tolist()
    return Gaps(usual, np.flatnonzero(long).tolist() if even else (), jumps)


def without_jumps(times: Sequence[int], found: Gaps) -> list[int]:
    """Return the times with a usual step instead of each jump; empty if there is none."""
    if not found.jumps:
        return []
    steps = (found.usual if i in found.jumps else b - a for i, (a, b) in enumerate(pairwise(times)))
    return list(accumulate(steps, initial=times[0]))


def joints(packets: Sequence[Seen], base: Fraction) -> tuple[set[int], str]:
    """Find where a stream begins anew: its times, of decoding and display, fall by over a second or to the start.

    Or they jump ahead. Returns the packets' indices and, in words, where time falls: times then identify no frames.
    """
    timed = [(i, packet) for i, packet in enumerate(packets) if packet.dts is not None]
    starts, back = set(), ""
    least, most = int(-1 / base), int(JUMP / base)
    for (_, one), (i, other) in pairwise(timed):
        pairs = ((one.dts, other.dts), (one.pts, other.pts))
        step = max(b - a for a, b in pairs if a is not None and b is not None)
        if not least <= step <= most or (step < 0 and (other.dts or 0) <= (timed[0][1].dts or 0)):
            starts.add(i)
            seconds = float(-step * base)
            back = back or (f"time jumps back by {seconds:,.2f} s, so frames are counted" if seconds > 0 else "")
    return starts, back


def verdict(
    container: InputContainer, packets: Sequence[Seen], pts: Sequence[int], times: Sequence[int], found: Gaps
) -> tuple[list[int], str, str]:
    """Judge a video by its packets in the order of decoding.

    ``pts`` are the times at which frames are shown, empty where they are not known; ``times`` are these, or those of
    decoding, which have gaps where frames are left out on purpose; ``found`` are their gaps.

    Returns:
        Numbers of the damaged frames, or -1 where no time tells them; the reason; what is odd if none is damaged.
    """
    stream = scanned_stream(container)
    codec, base = stream.codec_context.codec.canonical_name, Fraction(stream.time_base or 1)
    hurt = _marked(packets, base)
    why = "the container marks packets as corrupt" if hurt else "the stream begins inside a group of pictures"
    if not pts and (hurt or not packets[0].is_keyframe):
        return [-1], why, ""
    damaged = {time for i in hurt if (time := packets[i].pts) is not None}
    keys = sorted(packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None)
    after = () if codec in _FREE else found.after
    if pts and after and not (codec in _PAUSING and "mp4" in container.format.name):
        # packets alone do not tell a pause of H.264 from a loss, except before a key frame
        early = _before_their_key(packets)
        at_key = {i for i in after if times[i + 1] in early.union(keys)}
        losses = [i for i in after if (i not in found.jumps if i in at_key else codec != "h264")]
        damaged |= {times[i] for i in losses}  # a loss may take half of the picture before it
        damaged |= {times[i + 1] for i in losses if early or i not in at_key}
        why = f"{_in_words(times, base, losses)} in an even rate" if losses and not hurt else why
    if frames := spoiled(pts, keys, damaged) if pts else []:
        return frames, why, ""
    long = {i for i in after if times[i + 1] - times[i] >= REPORTED * found.usual}.union(found.jumps)
    return [], "", _in_words(times, base, sorted(long)) if long else ""


def _before_their_key(packets: Sequence[Seen]) -> set[int]:
    """Return the times of frames that are decoded after a key frame and shown before it."""
    early, key = set(), None
    for packet in packets:
        key = packet.pts if packet.is_keyframe else key
        if key is not None and packet.pts is not None and packet.pts < key:
            early.add(packet.pts)
    return early


def _marked(packets: Sequence[Seen], base: Fraction) -> set[int]:
    """Find the packets that the container marks, and those behind: a parser marks the picture before."""
    marked = [i for i, packet in enumerate(packets) if packet.is_corrupt]
    starts = joints(packets, base)[0] if marked else ()  # a joined file's packets before are whole, though marked
    marked = [i for i in marked if not {*range(i + 1, i + JOINT)}.intersection(starts)]
    return {behind for i in marked for behind in (i, i + 1) if behind < len(packets)}


def _in_words(times: Sequence[int], base: Fraction, after: Sequence[int]) -> str:
    step, at = (float((times[i] - times[j]) * base) for i, j in ((after[0] + 1, after[0]), (after[0], 0)))
    return f"a gap of {step:,.2f} s behind frame {after[0]} ({at:.2f} s)" + f" ({len(after)} such)" * (len(after) > 1)
