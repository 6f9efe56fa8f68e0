"""FFmpeg's decoder, from the start of a file to its end, with what it reports about damage."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from math import inf

import av
import av.logging
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from lit_video.video.decoding.container import video_stream
from lit_video.video.decoding.h264 import parameters
from lit_video.video.decoding.packets import coded_alone, filled, logged

PREDICTED = {PictureType.P, PictureType.B}
BETWEEN = {PictureType.B, PictureType.BI}  # B frames
_LEVELS = {"h264": av.logging.DEBUG, "hevc": av.logging.ERROR}  # levels at which a decoder logs lost pictures
_LAGS = {"av1": 3}
HELD = 16  # most B frames in a row, which are held until the next reference frame


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
