"""Opening of videos. Playlists, text files and truncated files are refused, although FFmpeg opens them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import av
from av.container import InputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.stream import VideoStream

# FFmpeg's formats of playlists, and of text files, whose text FFmpeg would draw as pictures
_NO_VIDEOS = dict.fromkeys(("concat", "hls", "dash"), "a list of files")
_NO_VIDEOS |= dict.fromkeys(("tty", "bin", "xbin", "adf", "idf"), "a text")
# codecs that decode to the same pixels from a key frame as from the start of the file, in tests
_SEEKING = {"h264", "hevc", "vp8", "vp9", "av1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg", "ffv1", "png"}
_SEEKING |= {"h263", "flv1", "msmpeg4v2", "msmpeg4v3", "wmv1", "wmv2"}
_KEPT = {"palette", "new_extradata", "param_change"}  # kinds of a packet's side data that later packets need too
SHORT = 0.9  # a video shorter than this share of its announced duration is truncated


class DecodeError(RuntimeError):
    """Error of a video that cannot be read; the message gives its path and the reason."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of FFmpeg and the operating system into a :class:`DecodeError` with the path and the message."""
    try:
        yield
    except (av.FFmpegError, OSError) as error:
        raise DecodeError(f"{path}: {error.strerror or str(error) or type(error).__name__}") from error


def open_video(path: Path) -> InputContainer:
    """Open a file of any name; without ``file:`` FFmpeg would read the file name ``http:/a.mp4`` as a URL."""
    return av.open(f"file:{path}")


def video_stream(container: InputContainer) -> VideoStream:
    """Return FFmpeg's best video stream, single-threaded; skip cover pictures and streams without a decoder."""
    best, usual = container.streams.best("video"), Disposition.default
    every = container.streams.video
    videos = [each for each in every if each.codec_context and not each.disposition & Disposition.attached_pic]
    if not videos:
        unknown = any(each.codec_context is None for each in every)
        raise av.InvalidDataError(0, "no video stream" + " that FFmpeg has a decoder for" * unknown)
    stream = max(videos, key=lambda each: (each is best, each.disposition & usual, each.width * each.height))
    # threads gain nothing with one worker per core, and stopping frame threads early can hang PyAV
    stream.codec_context.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    return stream


class Seen(NamedTuple):
    """Times and flags of a packet, named as in PyAV."""

    pts: int | None
    dts: int | None
    duration: int | None
    is_keyframe: bool
    is_corrupt: bool
    is_discard: bool
    is_kept: bool = False  # has a palette or parameters that later packets need too


def seen(packet: Packet[VideoStream]) -> Seen:
    """Return a packet's times and flags."""
    times = packet.pts, packet.dts, packet.duration
    kept = any(data.data_type in _KEPT for data in packet.iter_sidedata())
    return Seen(*times, packet.is_keyframe, packet.is_corrupt, packet.is_discard, kept)


def seeks(stream: VideoStream, packets: Sequence[Seen]) -> bool:
    """Return whether decoding can start at any key frame, without data of earlier packets."""
    codec = stream.codec_context.codec
    return (codec.intra_only or codec.canonical_name in _SEEKING) and not any(packet.is_kept for packet in packets)


def check_file(container: InputContainer, stream: VideoStream, path: Path) -> None:
    """Raise an ``av.InvalidDataError`` for a playlist, a text or a truncated file, which FFmpeg would decode."""
    if what := _NO_VIDEOS.get(container.format.name):
        raise av.InvalidDataError(0, f"{what}, no video")
    size = path.stat().st_size
    if lost := sum(entry.pos + entry.size > size for entry in stream.index_entries):
        raise av.InvalidDataError(0, f"the file ends early, {lost} or more of its frames are cut off")


def check_end(container: InputContainer, stream: VideoStream, first: float, end: float, step: float) -> None:
    """Raise an ``av.InvalidDataError`` for a video whose header shows that the last frames are missing.

    ``first`` is the first frame's start, ``end`` the last frame's end, ``step`` the usual frame interval; in seconds.
    """
    formats, least = set(container.format.name.split(",")), SHORT
    here = end - first
    if "matroska" in formats:
        least = 1.0
    if tag := "matroska" in formats and stream.metadata.get("DURATION"):  # DURATION is an end time
        hours, minutes, seconds = tag.split(":")
        announced, here = int(hours) * 3600 + int(minutes) * 60 + float(seconds), end
    elif formats & {"matroska", "flv"} and len(container.streams) == 1:  # the container's duration is an end time too
        announced, here = (container.duration or 0) / 1e6, end
    elif formats & {"mp4", "asf"}:
        announced = float((stream.duration or 0) * (stream.time_base or 0))
    else:  # other formats store no duration: FFmpeg computes it from the packets
        return
    if here < least * announced and announced - here > 3 * step:
        why = f"the file ends early: {announced:.2f} s are announced, the frames end at {here:.2f} s"
        raise av.InvalidDataError(0, why)
