"""Damage of a video found in its packets, without decoding. The unit of damage is a group of pictures.

A corrupt, undecodable or missing packet spoils every frame from the key frame before it to the next key frame. Frames
decoded after a key frame but shown before it belong to both groups.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from av.video.stream import VideoStream

from lit_video.utils.text import plural
from lit_video.video.decoding.container import Seen

JUMP = 10  # a jump is longer than so many seconds and so many usual steps; a pause is not
DOUBTFUL = 4  # gap in usual steps from which a video is decoded to be sure
SEVERAL = 1 / 8  # largest share of gaps in a constant rate; with more the rate is variable
JOINT = 4  # corrupt marks fewer packets before a restart than this are false
_FREE = {"gif", "apng", "webp"}  # codecs of animations, whose rate varies and whose files lose no packets
_PAUSING = {"h264", "hevc"}  # codecs of recorders, which skip frames in mp4


def spoiled(pts: Sequence[int], keys: Sequence[int], damaged: Collection[int]) -> list[int]:
    """Return the numbers of frames made unusable by damage at the times ``damaged``; all times are ascending.

    A damaged key frame also spoils the group before it, where the damage may have begun unnoticed. Frames before the
    first key frame are unusable, unless there is no key frame.
    """
    if not damaged and (not keys or pts[0] >= keys[0]):
        return []
    groups = {bisect_right(keys, time) for time in damaged} | {bisect_left(keys, time) for time in damaged}
    groups |= {0} if keys else set()
    return [i for i, time in enumerate(pts) if bisect_right(keys, time) in groups]


class Gaps(NamedTuple):
    """Gaps in the times of frames."""

    usual: int = 1  # usual step
    after: Sequence[int] = ()  # frames before gaps in an otherwise constant rate
    jumps: Collection[int] = ()  # frames before jumps


def gaps(times: Sequence[int], base: Fraction, codec: str) -> Gaps:
    """Find gaps in ascending times; a range is even and has none."""
    if isinstance(times, range) or len(times) < 3 or codec in _FREE:
        return Gaps()
    steps = np.diff(np.asarray(times))
    usual = int(np.partition(steps, len(steps) // 2)[len(steps) // 2])
    long = 2 * steps > 3 * usual
    mean = steps[~long].mean()
    off = np.abs(steps - np.rint(steps / mean) * mean)[steps < (DOUBTFUL - 0.5) * mean]
    even = long.sum() <= SEVERAL * len(steps) and (off <= 1 + mean / 10).all()
    jumps = np.flatnonzero(steps > JUMP * max(usual, float(1 / base))).tolist()
    return Gaps(usual, np.flatnonzero(long).tolist() if even else (), jumps)


def without_jumps(times: Sequence[int], found: Gaps) -> list[int]:
    """Return the times with the usual step for each jump; empty if there is no jump."""
    if not found.jumps:
        return []
    steps = (found.usual if i in found.jumps else b - a for i, (a, b) in enumerate(pairwise(times)))
    return list(accumulate(steps, initial=times[0]))


def joints(packets: Sequence[Seen], base: Fraction) -> dict[int, bool]:
    """Find packets where a stream restarts: True if time falls by over a second or to the start, False if it jumps."""
    timed = [(i, packet) for i, packet in enumerate(packets) if packet.dts is not None]
    found, least, most = dict[int, bool](), int(-1 / base), int(JUMP / base)
    for (_, one), (i, other) in pairwise(timed):
        pairs = ((one.dts, other.dts), (one.pts, other.pts))
        step = max(b - a for a, b in pairs if a is not None and b is not None)
        if not least <= step <= most or (step < 0 and (other.dts or 0) <= (timed[0][1].dts or 0)):
            found[i] = step < 0
    return found


def verdict(
    packets: Sequence[Seen], pts: Sequence[int], times: Sequence[int], found: Gaps, stream: VideoStream
) -> tuple[list[int], str, bool]:
    """Judge a video's damage by its packets in decoding order.

    A gap in a constant rate is a missing packet, except for a jump to a key frame, and in H.264, whose decoder can tell
    a loss from a pause. ``pts``: presentation times, if known; ``times``: the same, or decoding times.
    Returns the numbers of damaged frames (-1 if times are unknown), the reason, and whether only decoding can tell.
    """
    codec, base = stream.codec_context.codec.canonical_name, Fraction(stream.time_base or 1)
    marked = [i for i, packet in enumerate(packets) if packet.is_corrupt]
    starts = joints(packets, base) if marked else {}
    marked = [i for i in marked if not starts.keys() & range(i + 1, i + JOINT)]
    hurt = {i for j in marked for i in (j, j + 1) if i < len(packets)}  # FFmpeg may mark one packet too early
    why = "the container marks packets as corrupt" if hurt else "the stream begins inside a group of pictures"
    if not pts and (hurt or not packets[0].is_keyframe):
        return [-1], why, False
    damaged = {time for i in hurt if (time := packets[i].pts) is not None}
    keys = sorted(packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None)
    leading, key = set[int](), None  # times of frames decoded after a key frame but shown before it
    for packet in packets:
        key = packet.pts if packet.is_keyframe else key
        leading |= {packet.pts} if packet.pts is not None and key is not None and packet.pts < key else set()
    pauses = found.after if codec == "h264" else [i for i in found.jumps if times[i + 1] in keys]
    losses = [i for i in found.after if i not in pauses or times[i + 1] in leading]
    if pts and losses and not (codec in _PAUSING and "mp4" in stream.container.format.name):
        damaged |= {times[i] for i in losses} | ({times[i + 1] for i in losses} - {*keys})
        why = why if hurt else f"behind frame {losses[0]} is the first of {plural(len(losses), 'gap')} in an even rate"
    if frames := spoiled(pts, keys, damaged) if pts else []:
        return frames, why, False
    longest = max((times[i + 1] - times[i] for i in found.after), default=0)
    return [], "", bool(found.jumps) or longest >= DOUBTFUL * found.usual
