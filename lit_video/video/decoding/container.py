"""Opening of videos, in a closed list of formats: others of FFmpeg open further files, or draw a text as pictures."""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

# FFmpeg's demuxers that are used, none of which opens a second file or a network address: containers, then bare streams
_CONTAINERS = "mov matroska avi mpegts mpeg ogg flv live_flv swf asf rm mxf nut wtv ivf dhav dv gif apng yuv4mpegpipe"
_STREAMS = "h261 h263 h264 hevc vvc m4v mpegvideo mjpeg mjpeg_2000 vc1 vc1test av1 obu dirac cavsvideo ingenient"
_OPTIONS = {"format_whitelist": ",".join(f"{_CONTAINERS} {_STREAMS}".split()), "protocol_whitelist": "file"}
NO_VIDEO = "its content is no video: a playlist, a text, a picture, or a format that is not read"
# a file with less than this share of its announced bytes is truncated; FFmpeg has the same share for ASF
WHOLE_SHARES = {"matroska": 1.0, "asf": 0.95}
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
    """Open a plain file of any name; without ``file:`` FFmpeg would read the file name ``http:/a.mp4`` as a URL."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe could block for ever
        raise OSError(0, "neither a file nor a folder")
    try:
        # old files have metadata in other encodings than UTF-8
        return av.open(f"file:{path}", container_options=_OPTIONS, metadata_errors="replace")
    except av.ArgumentError as error:  # FFmpeg's answer to a format outside the list
        raise av.InvalidDataError(0, NO_VIDEO) from error


def video_stream(container: InputContainer) -> VideoStream:
    """Return FFmpeg's best video stream, single-threaded; skip cover pictures and streams without a decoder."""
    streams = container.streams.video
    videos = [
        stream for stream in streams if stream.codec_context and not stream.disposition & Disposition.attached_pic
    ]
    if not videos:
        reason = "no video stream"
        if any(stream.codec_context is None for stream in streams):
            reason += " that FFmpeg has a decoder for"
        raise av.InvalidDataError(0, reason)

    best = container.streams.best("video")

    def rank(stream: VideoStream) -> tuple[bool, Disposition, int]:
        return stream is best, stream.disposition & Disposition.default, stream.width * stream.height

    stream = max(videos, key=rank)
    # threads gain nothing with one worker per core, and stopping frame threads early can hang PyAV
    stream.codec_context.thread_type = "NONE"
    stream.codec_context.thread_count = 1
    return stream


def check_file(container: InputContainer, stream: VideoStream, path: Path) -> None:
    """Raise an ``av.InvalidDataError`` for a truncated file, which FFmpeg would decode."""
    size = path.stat().st_size
    end = announced_bytes(container, path)
    for form, share in WHOLE_SHARES.items():
        if form in container.format.name.split(",") and size < share * end:
            raise av.InvalidDataError(0, f"the file ends early: its header announces {end:,} bytes, there are {size:,}")

    lost = sum(entry.pos + entry.size > size for entry in stream.index_entries)
    if lost:
        raise av.InvalidDataError(0, f"the file ends early, {lost} or more of its frames are cut off")


def check_end(
    container: InputContainer, stream: VideoStream, path: Path, *, first: float, end: float, step: float
) -> None:
    """Raise an ``av.InvalidDataError`` for a video whose header shows that the last frames are missing.

    A file with all the bytes that its header announces is whole, even if its frames end before the announced duration:
    then the last frame is shown for long.

    Args:
        container: the opened file.
        stream: its video stream.
        path: path of the file.
        first: start of the first frame, in seconds, like the next two.
        end: end of the last frame.
        step: usual interval of frames.
    """
    formats = set(container.format.name.split(","))
    if "flv" in formats and len(container.streams) == 1:
        # FLV announces the time at which the last frame ends, the others how long all frames are shown
        announced = (container.duration or 0) / 1e6
        present = end
    elif formats & {"mp4", "asf"}:
        announced = float((stream.duration or 0) * (stream.time_base or 0))
        present = end - first
    else:  # others announce their bytes (Matroska), or no duration: FFmpeg computes it from the packets
        return

    if present < SHORT * announced and announced - present > 3 * step:
        has_all_bytes = 0 < announced_bytes(container, path) <= path.stat().st_size
        if has_all_bytes:
            return
        reason = f"the file ends early: {announced:.2f} s are announced, the frames end at {present:.2f} s"
        raise av.InvalidDataError(0, reason)


HEAD_BYTES = 4096  # bytes that hold a file's first elements, which announce its size


def announced_bytes(container: InputContainer, path: Path) -> int:
    """Return the file's size in bytes that its header announces; 0 if it announces none, as in a live stream."""
    sizes = {"matroska": _segment_end, "flv": _flv_size, "asf": _asf_size}
    for form, size_of in sizes.items():
        if form in container.format.name.split(","):
            with path.open("rb") as file:
                return size_of(file.read(HEAD_BYTES))
    return 0


# the metadata of FLV give the name of a value, a byte for its type (0: a number) and its eight bytes (Adobe's FLV 10.1,
# E.4.4)
FLV_SIZE = b"filesize\x00"


def _flv_size(top: bytes) -> int:
    """Return the size that FLV's metadata announce."""
    _, named, content = top.partition(FLV_SIZE)
    if not named or len(content) < 8:
        return 0
    (size,) = struct.unpack(">d", content[:8])
    return int(size) if 0 < size < 2**63 else 0


ASF_FILE = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")  # ASF's File Properties Object (revision 01.20.05, 3.2)


def _asf_size(top: bytes) -> int:
    """Return the size in ASF's file properties; a broadcast has none.

    The object's name is followed by its size (8 bytes), the file's number (16), the file's size (8), five numbers (8
    each) and flags (4), whose first bit marks a broadcast.
    """
    _, named, content = top.partition(ASF_FILE)
    if not named or len(content) < 76:
        return 0
    size, flags = struct.unpack_from("<24xQ40xI", content)
    return 0 if flags & 1 else int(size)


SEGMENT = 0x18538067  # Matroska's element with the frames (RFC 9559)


def _segment_end(top: bytes) -> int:
    """Return where a Matroska file's segment ends, in bytes; 0 if its header does not say it, as in a live stream."""
    at = 0
    while at < len(top):
        name, at = _number(top, at, marked=True)
        size, at = _number(top, at)
        if size < 0:
            return 0
        if name == SEGMENT:
            return at + size
        at += size
    return 0


def _number(content: bytes, at: int, *, marked: bool = False) -> tuple[int, int]:
    """Read a number of variable length (RFC 8794, 4); return it, -1 if unknown, and where it ends."""
    first = content[at] if at < len(content) else 0
    length = 9 - first.bit_length()  # bytes: one more than the zeros before the first bit that is set, the mark
    end = at + length
    number = int.from_bytes(content[at:end], "big")
    if marked:  # a name includes the mark of its length
        return number, end

    highest = (1 << 7 * length) - 1  # all bits set: the size is unknown
    number &= highest
    return (-1 if number == highest else number), end
