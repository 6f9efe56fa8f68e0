"""FFmpeg's decoder, from the start of a file to its end, with what it reports: side data of frames, and damage.

The unit of damage is a group of pictures: a damaged packet spoils every frame from the key frame before it to the next
key frame. A gap in time is no damage, but one where the demuxer logs an error is: there it lost its place in the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from math import inf
from typing import cast

import av
import av.logging
import numpy as np
from av.container import InputContainer
from av.filter import Graph
from av.packet import Packet
from av.sidedata.sidedata import Type
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from lit_video.video.decoding.container import video_stream
from lit_video.video.decoding.h264 import parameters
from lit_video.video.decoding.packets import Seen, before_key, coded_alone, filled, logged
from lit_video.video.decoding.table_of_frames import frames_before_gaps

SIDE_DATA_KINDS = 64  # kinds of side data, with room for later versions of FFmpeg
PREDICTED = {PictureType.P, PictureType.B}
BETWEEN = {PictureType.B, PictureType.BI}  # B frames
_LEVELS = {"h264": av.logging.DEBUG, "hevc": av.logging.ERROR}  # levels at which a decoder logs lost pictures
_LAGS = {"av1": 3}
HELD = 16  # most B frames in a row, which are held until the next reference frame
JOINT = 4  # a mark of corruption is ignored if the stream restarts fewer than this many packets later
MARKED = "the container marks packets as corrupt"
LOST_PLACE = "the demuxer lost its place in the file, beside a gap in time"
INSIDE = "the stream begins inside a group of pictures"


def side_data(frame: VideoFrame) -> Mapping[str, bytes]:
    """Return a frame's side data without the kinds for which PyAV raises, because it has no name for them (EXIF)."""
    with suppress(ValueError):
        return cast("Mapping[str, bytes]", frame.side_data)  # PyAV's type is too narrow

    graph = Graph()
    nodes = [graph.add_buffer(None, frame.width, frame.height, frame.format, time_base=Fraction(1, 1000))]
    for kind in range(len(Type), SIDE_DATA_KINDS):
        nodes.append(graph.add("sidedata", f"mode=delete:type={kind}"))
    nodes.append(graph.add("buffersink"))
    graph.link_nodes(*nodes).configure()
    graph.vpush(frame)
    return cast("Mapping[str, bytes]", graph.vpull().side_data)


class Decoder:
    """FFmpeg's decoder of a stream, and its reports of lost pictures, which only H.264's and HEVC's decoders log."""

    def __init__(self, stream: VideoStream) -> None:
        self.context = stream.codec_context
        self.listens = self.context.name in _LEVELS
        self.level = _LEVELS.get(self.context.name, av.logging.ERROR)

        # packets by which the report of a frame's damage may lag behind the frame
        codec = self.context.codec
        self.behind = _LAGS.get(codec.canonical_name, 1)
        if coded_alone(codec):
            self.behind = 0

        # beginnings of the lines that report a lost picture; a stream that allows gaps in its numbers loses none
        self._losses: tuple[str, ...] = ("Frame num gap", "Could not find ref with POC")
        if self.context.name == "h264":
            allowed = parameters(self.context.extradata)
            if allowed and allowed.gaps:
                self._losses = ()

    @property
    def leads(self) -> bool:
        """Whether pictures after the first key frame may refer to some before it, which a cut stream lacks (HEVC)."""
        return self.context.name == "hevc"

    def decode(self, packet: Packet[VideoStream]) -> tuple[list[VideoFrame], bool]:
        """Decode a packet; also return whether the decoder logs that earlier pictures are lost."""
        if not self.listens:
            return self.context.decode(packet), False

        with logged(self.level) as lines:
            frames = self.context.decode(packet)
        reports_loss = any(text.startswith(self._losses) or "eference picture" in text for _, _, text in lines)
        return frames, reports_loss

    def decode_again(self, packet: Packet[VideoStream]) -> tuple[list[VideoFrame], bool]:
        """Decode a packet; if an error has left the decoder full, flush it and try again."""
        with suppress(av.BlockingIOError):
            return self.decode(packet)
        self.context.flush_buffers()
        return self.decode(packet)

    def rest(self) -> list[VideoFrame]:
        """Return the frames that the decoder holds back for their order."""
        return self.context.decode(None)


def judged(container: InputContainer, *, timed: bool) -> Iterator[tuple[VideoFrame, bool]]:
    """Yield frames in display order, each with a flag: True if damage or a loss in its group of pictures spoils it.

    B frames are held until the next reference frame. Every frame is held until the packets that could show its damage.
    If not ``timed``, a spoiled frame spoils all later frames, because their numbers may be wrong.
    """
    stream = video_stream(container)
    decoder = Decoder(stream)
    held: deque[VideoFrame] = deque()
    losses: list[float] = []
    is_spoiled = False
    for frame in _frames_and_losses(decoder, filled(container, stream), losses):
        time = inf if frame.pts is None else frame.pts
        # a container may mark a predicted frame as key frame
        begins_group = frame.key_frame and frame.pict_type not in PREDICTED and not frame.is_corrupt
        if timed and begins_group:
            for earlier in held:
                yield earlier, is_spoiled
            held.clear()
            is_spoiled = False
            losses[:] = [loss for loss in losses if loss >= time]

        is_spoiled = is_spoiled or frame.is_corrupt or any(loss < time for loss in losses)
        held.append(frame)
        is_reference = frame.pict_type not in BETWEEN
        while len(held) > decoder.behind and (is_reference or len(held) > HELD):
            yield held.popleft(), is_spoiled

    for frame in held:
        yield frame, is_spoiled


def _frames_and_losses(
    decoder: Decoder, packets: Iterator[Packet[VideoStream]], losses: list[float]
) -> Iterator[VideoFrame]:
    """Yield all frames in display order; add to ``losses`` the times of key frames whose groups miss pictures."""
    key_time: float | None = None
    keys = 0
    for packet in chain(packets, [None]):
        frames: list[VideoFrame] = []
        try:
            if packet is None:
                frames = decoder.rest()
            else:
                frames, reports_loss = decoder.decode_again(packet)
                if reports_loss and key_time is not None and (keys > 1 or not decoder.leads):
                    losses.append(key_time)
        except av.FFmpegError:
            losses.append(-inf if key_time is None else key_time)

        if packet is not None and packet.is_keyframe:
            keys += 1
            key_time = -inf if packet.pts is None else packet.pts
        yield from frames


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
