"""Frames that are spoiled by damage, as FFmpeg's demuxer or decoder reports it.

The unit of damage is a group of pictures: a damaged packet spoils every frame from the key frame before it to the next
key frame. A gap in time is no damage, but one where the demuxer logs an error is: there it lost its place in the file.
"""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from lit_video.video.decoding.packets import Seen, before_key
from lit_video.video.decoding.times import frames_before_gaps

JOINT = 4  # a mark of corruption is ignored if the stream restarts fewer than this many packets later
MARKED = "the container marks packets as corrupt"
LOST_PLACE = "the demuxer lost its place in the file, beside a gap in time"
INSIDE = "the stream begins inside a group of pictures"


def spoiled(pts: Sequence[int], keys: Sequence[int], damaged: Collection[int]) -> list[int]:
    """Return the numbers of the frames that are spoiled by damage at the times ``damaged``.

    ``pts`` and ``keys`` are ascending times of all frames and of key frames. A damaged key frame also spoils the group
    before it, where damage may have begun unnoticed.
    """
    if not damaged:
        return []

    times = [*damaged]
    groups = np.searchsorted(keys, pts, side="right")
    damaged_groups = np.searchsorted(keys, times, side="right")
    groups_before = np.searchsorted(keys, times, side="left")  # differs only at a key frame
    is_spoiled = np.isin(groups, [*damaged_groups, *groups_before])
    return np.flatnonzero(is_spoiled).tolist()


def marked(packets: Sequence[Seen], starts: Mapping[int, bool]) -> list[Seen]:
    """Return the packets that the demuxer marks as corrupt, in decoding order, except marks at a restart.

    ``starts`` has the positions at which the stream restarts.
    """
    corrupt: list[Seen] = []
    for position, packet in enumerate(packets):
        if packet.is_corrupt and not starts.keys() & range(position + 1, position + JOINT):
            corrupt += packets[position : position + 2]  # FFmpeg may mark the packet before the corrupt one
    return corrupt


def beside_gaps(packets: Sequence[Seen], pts: Sequence[int], base: Fraction) -> list[int]:
    """Return the numbers of the frames that are spoiled where the demuxer logged an error beside a gap in time.

    The packet before the error may be cut, and frames up to the next key frame may refer to lost ones.
    """
    errors = [position for position, packet in enumerate(packets) if packet.is_behind_error]
    if not errors or not pts:
        return []

    keys = sorted({packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None})
    gaps = {*frames_before_gaps(pts, base)}
    numbers: set[int] = set()
    for position in errors:
        times = {packet.pts for packet in packets[position - 1 : position + 1] if packet.pts is not None}
        of_error = spoiled(pts, keys, times)
        if gaps & {*of_error, *(number - 1 for number in of_error)}:
            numbers.update(of_error)
    return sorted(numbers)


def reported(packets: Sequence[Seen], starts: Mapping[int, bool], pts: Sequence[int]) -> tuple[list[int], str]:
    """Return the numbers of the frames that are spoiled by what the demuxer reports, and the reason.

    ``pts`` are the ascending presentation times of the frames. If they are unknown (empty), a spoiled frame has the
    number -1; if they are known, frames before the first key frame do not count as the video's.
    """
    corrupt = marked(packets, starts)
    if not pts and (corrupt or before_key(packets)):
        return [-1], MARKED if corrupt else INSIDE

    corrupt_times = {packet.pts for packet in corrupt if packet.pts is not None}
    if not corrupt_times:
        return [], MARKED
    keys = sorted({packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None})
    return spoiled(pts, keys, corrupt_times), MARKED
