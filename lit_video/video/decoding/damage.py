"""Frames that reported damage spoils. The unit of damage is a group of pictures.

A damaged packet spoils every frame from the key frame before it to the next key frame. Damage is what FFmpeg's
demuxer or decoder reports; a gap in time is none.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from lit_video.video.decoding.packets import Seen, before_key

JOINT = 4  # a corrupt mark is false if the stream restarts fewer than this many packets later
MARKED = "the container marks packets as corrupt"
INSIDE = "the stream begins inside a group of pictures"


def spoiled(pts: Sequence[int], keys: Sequence[int], damaged: Collection[int]) -> list[int]:
    """Return the numbers of the frames that are spoiled by damage at the times ``damaged``.

    ``pts`` and ``keys`` are ascending times of all frames and of key frames. A damaged key frame also spoils the group
    before it, where damage may have begun unnoticed.
    """
    times = [*damaged]
    groups = np.searchsorted(keys, pts, side="right")
    damaged_groups = np.searchsorted(keys, times, side="right")
    groups_before = np.searchsorted(keys, times, side="left")  # differs at a key frame alone
    is_spoiled = np.isin(groups, [*damaged_groups, *groups_before])
    return np.flatnonzero(is_spoiled).tolist()


def marked(packets: Sequence[Seen], starts: Mapping[int, bool]) -> list[Seen]:
    """Return the packets in decoding order that the demuxer marks as corrupt; ``starts``: where the stream restarts."""
    corrupt: list[Seen] = []
    for position, packet in enumerate(packets):
        restarts_soon = starts.keys() & range(position + 1, position + JOINT)
        if packet.is_corrupt and not restarts_soon:
            corrupt += packets[position : position + 2]  # FFmpeg may mark the packet before the corrupt one
    return corrupt


def reported(packets: Sequence[Seen], starts: Mapping[int, bool], pts: Sequence[int]) -> tuple[list[int], str]:
    """Return the numbers of the frames that the demuxer's reports spoil, and the reason; -1 if times are unknown.

    ``pts``: ascending presentation times of the frames, empty if unknown. With times, frames before the first key frame
    are none of the video's.
    """
    corrupt = marked(packets, starts)
    if not pts and (corrupt or before_key(packets)):
        return [-1], MARKED if corrupt else INSIDE

    keys = sorted({packet.pts for packet in packets if packet.is_keyframe and packet.pts is not None})
    corrupt_times = {packet.pts for packet in corrupt if packet.pts is not None}
    return spoiled(pts, keys, corrupt_times), MARKED
