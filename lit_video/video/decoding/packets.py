"""Packets of a video: their times and flags, and whether each holds exactly one frame that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

import av.logging
from av.codec import Codec
from av.container import InputContainer
from av.packet import Packet
from av.video.stream import VideoStream

from lit_video.video.decoding.h264 import parameters, turns_pictures

# codecs that were tested to decode to the same pixels from a key frame as from the start of the file; a packet of other
# codecs may also hold several frames, a half or none, unless each of their frames is coded on its own
_SEEKING = {"h264", "hevc", "vp8", "vp9", "av1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg", "ffv1"}
_SEEKING |= {"h263", "flv1", "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2"}
_KEPT = {"palette", "new_extradata", "param_change"}  # kinds of a packet's side data that later packets need too
_HIDING = {"vp8", "vp9"}  # codecs whose packets may hold a frame that is never shown, to which shown frames refer
_NOT_CODED = 19  # most bytes of an MPEG-4 picture without content, which FFmpeg may not show (MAX_NVOP_SIZE)

_PICTURE = b"\0\0\1\xb6"  # mark before a picture of MPEG-4
_TYPE_B = 2


class Seen(NamedTuple):
    """Times and flags of a packet, or of a frame, named as in PyAV."""

    pts: int | None
    dts: int | None
    duration: int | None
    is_keyframe: bool
    is_corrupt: bool = False
    is_discard: bool = False
    size: int = 0  # bytes
    pos: int | None = None  # byte of the file
    is_kept: bool = False  # has a palette or parameters that later packets need too
    is_hidden: bool = False  # holds a frame that is not shown
    is_between: bool = False  # holds, in AVI, a picture of MPEG-4 that is shown before an earlier one (B)
    turns: bool = False  # is the first packet, and holds a message that turns the pictures after it
    is_behind_error: bool = False  # the demuxer logged an error while it looked for this packet


_seen = Seen._make
_of_packet = attrgetter(*Seen._fields[: Seen._fields.index("is_kept")])


def filled(container: InputContainer, stream: VideoStream) -> Iterator[Packet[VideoStream]]:
    """Yield a stream's packets without empty ones: they repeat a picture or end a file, and would end the decoder."""
    return (packet for packet in container.demux(stream) if packet.size)


def seen_packets(container: InputContainer, stream: VideoStream) -> list[Seen]:
    """Return times and flags of a stream's packets in decoding order, and where the demuxer logs errors."""
    codec = stream.codec_context.codec.canonical_name
    can_hide = codec in _HIDING
    looks_between = codec == "mpeg4" and container.format.name == "avi"  # other containers have times

    packets: list[Seen] = []
    errors = 0
    with logged(av.logging.ERROR) as lines:
        for packet in filled(container, stream):
            # there are many packets, so the tuple is made by position and without a function
            side_data = [*packet.iter_sidedata()]
            is_kept = bool(side_data) and any(data.data_type in _KEPT for data in side_data)
            is_hidden = can_hide and _is_hidden(memoryview(packet), codec)
            is_between = looks_between and _has_picture_between(bytes(packet))
            turns = not packets and turns_pictures(bytes(packet), codec)
            is_behind_error = len(lines) > errors and bool(packets)
            errors = len(lines)
            packets.append(_seen((*_of_packet(packet), is_kept, is_hidden, is_between, turns, is_behind_error)))
    return packets


@contextmanager
def logged(level: int) -> Iterator[list[tuple[int, str, str]]]:
    """Collect what FFmpeg logs in this thread from a level on: level, part of FFmpeg and text."""
    before = av.logging.get_level()
    skips = av.logging.get_skip_repeated()
    av.logging.set_level(level)
    av.logging.set_skip_repeated(False)  # an error that another reading of the file ended with would be left out
    try:
        with av.logging.Capture() as lines:
            yield lines
    finally:
        av.logging.set_level(before)
        av.logging.set_skip_repeated(skips)


def _has_picture_between(content: bytes) -> bool:
    """Return whether a packet of MPEG-4 holds a picture between others (ISO 14496-2, 6.2.5: type B)."""
    at = content.find(_PICTURE)
    while at >= 0 and at + len(_PICTURE) < len(content):
        if content[at + len(_PICTURE)] >> 6 == _TYPE_B:
            return True
        at = content.find(_PICTURE, at + len(_PICTURE))
    return False


def _is_hidden(content: memoryview, codec: str) -> bool:
    """Return whether a packet's frame is not shown, by its header (RFC 6386, 9.1; VP9 bitstream specification, 6.2)."""
    first = content[0]
    if codec == "vp8":
        return not first & 0b10000
    if content[-1] >> 5 == 0b110:  # several frames, of which the last one is shown
        return False

    shift = 1 if first >> 4 == 0b1011 else 0  # profile 3 has another bit
    shows_earlier = first >> (3 - shift) & 1
    return not shows_earlier and not first >> (1 - shift) & 1


def coded_alone(codec: Codec) -> bool:
    """Return whether each frame is coded on its own; FFmpeg does not say so of PNG, because APNG shares its decoder."""
    return codec.intra_only or codec.canonical_name == "png"


def seeks(stream: VideoStream, packets: Sequence[Seen]) -> bool:
    """Return whether decoding can start at any key frame, without data of earlier packets."""
    codec = stream.codec_context.codec
    can_seek = coded_alone(codec) or codec.canonical_name in _SEEKING
    return can_seek and not any(packet.is_kept for packet in packets)


def reorders(stream: VideoStream, packets: Sequence[Seen]) -> bool:
    """Return whether frames may be shown in another order than that in which they are decoded."""
    codec = stream.codec_context.codec
    if codec.canonical_name == "mpeg4":
        return any(packet.is_between for packet in packets)
    return bool(codec.reorder)


def one_frame_each(stream: VideoStream, packets: Sequence[Seen]) -> bool:
    """Return whether each packet, except hidden ones, holds one frame that is shown, so that packets can be counted."""
    codec = stream.codec_context.codec
    if coded_alone(codec):
        return True

    name = codec.canonical_name
    if name not in _SEEKING:
        return False

    first, *others = packets
    group = takewhile(lambda packet: not packet.is_keyframe, others)
    # a frame of the first group is shown before its key frame
    begins_early = any(packet.pts is not None and packet.pts <= (first.pts or 0) for packet in group)
    if not first.is_keyframe or (first.pts is not None and begins_early):
        return False

    if name == "h264":
        allowed = parameters(stream.codec_context.extradata)
        return allowed is not None and not allowed.fields
    if name == "mpeg4":
        return all(packet.size > _NOT_CODED for packet in packets)
    return True


def before_key(packets: Sequence[Seen]) -> list[Seen]:
    """Return the packets before the first key frame, in decoding order; none if no packet is a key frame."""
    before = [*takewhile(lambda packet: not packet.is_keyframe, packets)]
    return before if len(before) < len(packets) else []
