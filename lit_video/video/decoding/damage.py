"""Damage of a video, found in its packets without decoding. The unit of damage is a group of pictures.

A corrupt, undecodable or missing packet spoils every frame from the key frame before it to the next key frame. A frame
decoded after a key frame but shown before it may refer to the groups on both sides of that key frame.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from av.video.stream import VideoStream

from lit_video.utils.text import plural
from lit_video.video.decoding.container import Seen

JUMP = 10  # a gap of more than this many seconds, and of more than this many usual steps, is a jump
DOUBTFUL = 4  # from a gap of this many usual steps, only decoding shows whether frames are missing
SEVERAL = 1 / 8  # a video with a larger share of gaps has a variable rate
JOINT = 4  # a corrupt mark is false if the stream restarts fewer than this many packets later
_FREE = {"gif", "apng", "webp"}  # codecs of animations, whose rate varies and whose files lose no packets
_PAUSING = {"h264", "hevc"}  # codecs of recorders that skip frames, so a gap in an mp4 file is no loss


def spoiled(pts: Sequence[int], keys: Sequence[int], damaged: Collection[int]) -> list[int]:
    """Return the numbers of the frames that are spoiled by damage at the times ``damaged``.

    ``pts`` and ``keys`` are ascending times of all frames and of key frames. A damaged key frame also spoils the group
    before it, where damage may have begun unnoticed. Frames before the first key frame, if there is one, are spoiled.
    """
    of_frames, hit = np.searchsorted(keys, pts, side="right"), [*damaged]
    groups = [*np.searchsorted(keys, hit, side="right"), *np.searchsorted(keys, hit, side="left")]
    if keys:
        groups.append(0)  # frames before the first key frame
    return np.flatnonzero(np.isin(of_frames, groups)).tolist()


Times = Sequence[int]


class Gaps(NamedTuple):
    """Gaps in the times of frames."""

    usual: int = 1  # usual step
    after: Sequence[int] = ()  # numbers of the frames before gaps, if the rate is otherwise constant
    jumps: Sequence[int] = ()  # numbers of the frames before jumps


def gaps(times: Sequence[int], base: Fraction, codec: str) -> Gaps:
    """Find gaps in ascending times; a ``range`` has equal steps, so it has none."""
    if isinstance(times, range) or len(times) < 3 or codec in _FREE:
        return Gaps()
    steps = np.diff(np.asarray(times))
    usual = int(np.partition(steps, len(steps) // 2)[len(steps) // 2])
    long = 2 * steps > 3 * usual
    mean = steps[~long].mean()
    off = np.abs(steps - np.rint(steps / mean) * mean)[steps < (DOUBTFUL - 0.5) * mean]
    even = long.sum() <= SEVERAL * len(steps) and (off <= 1 + mean / 10).all()
    jumps = np.flatnonzero(steps > JUMP * max(usual, float(1 / base))).tolist()
    return Gaps(usual, np.flatnonzero(long & even).tolist(), jumps)


def without_jumps(times: Sequence[int], found: Gaps) -> list[int]:
    """Return the times after replacing each jump by the usual step; empty if there is no jump."""
    if not found.jumps:
        return []
    steps = np.diff(np.asarray(times))
    steps[found.jumps] = found.usual
    return list(accumulate(steps.tolist(), initial=times[0]))


def joints(packets: Sequence[Seen], base: Fraction) -> dict[int, bool]:
    """Find packets where a stream restarts; the value is True if time goes back, False if it jumps ahead."""
    timed = [(i, packet) for i, packet in enumerate(packets) if packet.dts is not None]
    found, least, most = dict[int, bool](), int(-1 / base), int(JUMP / base)
    for (_, one), (i, other) in pairwise(timed):
        step = (other.dts or 0) - (one.dts or 0)
        if one.pts is not None and other.pts is not None:
            step = max(step, other.pts - one.pts)
        if not least <= step <= most or (step < 0 and (other.dts or 0) <= (timed[0][1].dts or 0)):
            found[i] = step < 0
    return found


def verdict(
    packets: Sequence[Seen], starts: Mapping[int, bool], pts: Times, times: Times, found: Gaps, stream: VideoStream
) -> tuple[list[int], str, bool]:
    """Judge a video's damage by its packets in decoding order.

    A gap in a constant rate is a missing packet. Exceptions: a jump to a key frame, and H.264, whose decoder can tell
    a loss from a pause. ``starts``: packets where the stream restarts; ``pts``: presentation times, empty if unknown;
    ``times``: presentation or decoding times.
    Returns the numbers of damaged frames (-1 if times are unknown), the reason, and whether decoding has to decide.
    """
    codec, why = stream.codec_context.codec.canonical_name, "the stream begins inside a group of pictures"
    hurt = list[Seen]()
    for i, packet in enumerate(packets):
        if packet.is_corrupt and not starts.keys() & range(i + 1, i + JOINT):
            hurt += packets[i : i + 2]  # FFmpeg may mark the packet before the corrupt one
            why = "the container marks packets as corrupt"
    if not pts and (hurt or not packets[0].is_keyframe):
        return [-1], why, False
    damaged = {packet.pts for packet in hurt if packet.pts is not None}
    keys, leading = _key_frames(packets)
    losses, longest = [], 0
    skips = not pts or (codec in _PAUSING and "mp4" in stream.container.format.name)
    for i in found.after:
        before, after = times[i : i + 2]
        longest = max(longest, after - before)
        pause = codec == "h264" or (i in found.jumps and after in keys)
        if not skips and (not pause or after in leading):
            losses.append(i)
            damaged |= {before} | ({after} - keys)
    if losses and not hurt:
        why = f"frame {losses[0]} is followed by the first of {plural(len(losses), 'gap')} in an even rate"
    if frames := spoiled(pts, sorted(keys), damaged):
        return frames, why, False
    return [], "", bool(found.jumps) or longest >= DOUBTFUL * found.usual


def _key_frames(packets: Sequence[Seen]) -> tuple[set[int], set[int]]:
    """Return the times of key frames, and of frames that are decoded after a key frame but shown before it."""
    keys, leading, key = set[int](), set[int](), None
    for packet in packets:
        if packet.is_keyframe:
            key = packet.pts
        if packet.pts is None or key is None:
            continue
        if packet.is_keyframe:
            keys.add(packet.pts)
        elif packet.pts < key:
            leading.add(packet.pts)
    return keys, leading
