"""Table of a video's frames, their times and key frames, mostly read from its packets without decoding.

The table is that of the frames that the decoder shows. If a packet of the file need not be one frame, the file is
decoded to make it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from lit_video.video.decoding.container import DecodeError, check_end, check_file, open_video, reading, video_stream
from lit_video.video.decoding.decoder import LOST_PLACE, beside_gaps, judged, reported, side_data
from lit_video.video.decoding.packets import Seen, before_key, one_frame_each, reorders, seeks, seen_packets
from lit_video.video.decoding.table_of_frames import FrameTable, compact, gap_text, restarts, usual_step, without_jumps

Frames = NDArray[np.uint8]

TABLES_KEPT = 2**14  # tables kept in memory; each takes about 2 kB, plus 8 bytes per frame if the frame rate varies
TAIL = 32  # the frame shown last is among this many last packets in decoding order
NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS: FFmpeg invents the times
USUAL_RATE = 25  # FFmpeg's rate of a stream that has none
LEAST_LEAD = 1000  # a thousandth of a second, to which containers round
AGREEING = 0.9  # share of durations that must be the steps of time: at the end of a stream FFmpeg has another
CHUNK = 8  # bytes of the name and size before the content of AVI's chunks
FRAMES_CHECKED = 64  # frames decoded to detect a wrong order


def frame_table(path: Path) -> FrameTable:
    """Scan a video's packets (1-3 ms per ten seconds) and cache the table; raises a :class:`DecodeError`."""
    if table := known_table(path):
        return table
    with reading(path), open_video(path) as container:
        return scanned(path, container)


def known_table(path: Path) -> FrameTable | None:
    """Return the table of a video that was scanned before, or that a source has."""
    place = kept_table(path)
    if not place:
        place += filter(None, (source(path) for source in _sources))
    return place[0] if place else None


def scanned(path: Path, container: InputContainer) -> FrameTable:
    """Scan the packets of an open video, up to its end, and cache the table."""
    stream = video_stream(container)
    check_file(container, stream, path)
    table = _table(_OpenVideo(path, container, stream, packets=seen_packets(container, stream)))
    kept_table(path)[:] = [table]
    return table


@lru_cache(TABLES_KEPT)
def kept_table(path: Path) -> list[FrameTable]:
    """Return the place in which a video's table is cached, empty at first."""
    return []


_sources: list[Callable[[Path], FrameTable | None]] = []


def add_source(source: Callable[[Path], FrameTable | None]) -> None:
    """Add a function that this process asks for a video's table before it scans the packets."""
    if source not in _sources:
        _sources.append(source)


def check_numbers(path: Path, numbers: Sequence[int], count: int) -> None:
    """Raise an :class:`IndexError` for frame numbers that a video does not have."""
    beyond = [number for number in numbers if not 0 <= number < count]
    if beyond:
        raise IndexError(f"{path}: frames {beyond} of a video with {count} frames")


class ClipFrames:
    """Frames of a clip, written into one array as they are decoded, so that the memory of one serves the next too."""

    def __init__(self, path: Path, numbers: Sequence[int]) -> None:
        self.path = path
        self._count = len(numbers)
        self._places: dict[int, list[int]] = defaultdict(list)
        for place, number in enumerate(numbers):
            self._places[number].append(place)
        self._frames: Frames | None = None

    @property
    def numbers(self) -> list[int]:
        """Numbers of the frames, ascending, each once."""
        return sorted(self._places)

    def write(self, number: int, image: Frames) -> None:
        """Copy an image ``(height, width, 3)`` to its places; raise a :class:`DecodeError` for one of another size."""
        if self._frames is None:
            self._frames = np.empty((self._count, *image.shape), np.uint8)
        if image.shape != self._frames.shape[1:]:
            raise DecodeError(f"{self.path}: its frames have several sizes")
        for place in self._places[number]:
            self._frames[place] = image

    @property
    def frames(self) -> Frames:
        """The clip after all frames were written, ``(frames, height, width, 3)``."""
        if self._frames is None:
            raise ValueError(f"{self.path}: a clip without frames")
        return self._frames


def check_sound(path: Path, table: FrameTable, numbers: Sequence[int]) -> None:
    """Raise a :class:`DecodeError`, with times and the reason, for frames that are known to be damaged."""
    damaged = sorted({*numbers}.intersection(table.damaged))
    if damaged:
        raise DecodeError(f"{path}: {table.where(damaged)} damaged: {table.damage}")


@dataclass(frozen=True)
class _OpenVideo:
    """An open video, and the packets of its stream in decoding order."""

    path: Path
    container: InputContainer
    stream: VideoStream
    packets: Sequence[Seen]

    @property
    def time_base(self) -> Fraction:
        """Seconds per unit of the packets' times."""
        return Fraction(self.stream.time_base or 1)

    @property
    def has_timestamps(self) -> bool:
        """False if the format stores no times, and FFmpeg invents them."""
        return not self.container.format.flags & NO_TIMESTAMPS


def _table(video: _OpenVideo) -> FrameTable:
    """Return the table of an open video."""
    shown = _shown(video.packets)
    if not shown:
        raise av.InvalidDataError(0, "the video stream is empty")
    _check_end(video, shown)

    # decode the video if a packet need not be one frame
    starts = restarts(video.packets, video.time_base)
    goes_back = any(starts.values())
    counted = goes_back or not one_frame_each(video.stream, video.packets)
    spoiled: list[int] = []
    if counted:
        shown, spoiled = _decoded(video.path, inside=bool(before_key(video.packets)))

    # where time goes back, several frames have the same time
    pts: Sequence[int] = ()
    times: Sequence[int] = ()
    if not goes_back:
        pts = _presentation_times(video, shown, counted=counted)
        times = pts or compact(_decoding_times(video, shown))
    sampled = without_jumps(times, video.time_base)

    damaged, damage = _damage(video, starts, pts, spoiled=spoiled)
    return FrameTable(
        pts=pts,
        time_base=video.time_base,
        keyframes=_key_times(video, pts, counted=counted),
        count=len(shown),
        seconds=_seconds(video, sampled, count=len(shown)),
        height=video.stream.codec_context.height,
        width=video.stream.codec_context.width,
        shown=() if sampled is pts else compact(sampled),  # not stored twice
        damaged=compact(damaged),
        damage=damage,
        counted=counted,
        lead=_lead(video, times),
        gap=gap_text(times, video.time_base),
        matrix=_first_matrix(video.path) if video.packets[0].turns else "",
    )


def _first_matrix(path: Path) -> str:
    """Return the display matrix of the first frame; FFmpeg gives none to the frames after it."""
    with open_video(path) as container:
        frame = next(container.decode(video_stream(container)))
        return bytes(side_data(frame).get("DISPLAYMATRIX", b"")).hex()


def _shown(packets: Sequence[Seen]) -> list[Seen]:
    """Return the packets whose frames are shown; an edit list may hide frames to which shown frames refer."""
    shown = [packet for packet in packets if not packet.is_discard and not packet.is_hidden]
    if not shown or shown[0].pts is None:
        return shown

    # drop the frames shown before the first key frame: Matroska cannot store their (negative) times
    first, *others = shown
    timed = (position for position, packet in enumerate(others) if packet.pts is not None)
    return [first, *others[next(timed, 0) :]]


def _decoded(path: Path, *, inside: bool) -> tuple[list[Seen], list[int]]:
    """Decode a whole video; return its frames' times in display order, and the numbers of the damaged frames.

    A stream that begins ``inside`` a group of pictures has no frames before its first key frame, whatever FFmpeg shows.
    """
    frames: list[Seen] = []
    spoils: list[bool] = []
    with open_video(path) as container:
        for frame, is_spoiled in judged(container, timed=True):
            is_keyframe = bool(frame.key_frame)
            seen = Seen(pts=frame.pts, dts=frame.dts, duration=frame.duration, is_keyframe=is_keyframe)
            frames.append(seen)
            spoils.append(is_spoiled)
    if not frames:
        raise av.InvalidDataError(0, "no frame can be decoded")

    if inside:
        keys = (number for number, frame in enumerate(frames) if frame.is_keyframe)
        first = next(keys, 0)
        del frames[:first]
        del spoils[:first]
    return frames, [number for number, is_spoiled in enumerate(spoils) if is_spoiled]


def _presentation_times(video: _OpenVideo, shown: Sequence[Seen], *, counted: bool) -> Sequence[int]:
    """Return the times of packets or ``counted`` frames, ascending, if they are presentation times; else nothing.

    They must tell frames apart. Streams without a container have no presentation times, and AVI has them only where it
    counts the frames. If the decoder reorders frames, ascending times may be decoding times that are stored as
    presentation times (ASF, bad copies). Then the first decoded frames decide.
    """
    pts = compact({frame.pts for frame in shown if frame.pts is not None})
    if len(pts) < len(shown) or not video.has_timestamps or video.stream.time_base is None:
        return ()
    if video.container.format.name == "avi":
        return pts if not counted and _counts_frames(video) else ()

    times = [frame.pts or 0 for frame in shown]
    if counted:
        return pts if all(time < later for time, later in pairwise(times)) else ()

    only_keys = all(packet.is_keyframe for packet in shown)
    reorders = video.stream.codec_context.has_b_frames and not only_keys
    if not reorders or times != sorted(times):
        return pts

    decoded_times: list[int] = []
    with suppress(av.FFmpegError), open_video(video.path) as container:
        frames = container.decode(video_stream(container))
        decoded_times = [frame.pts or 0 for frame in islice(frames, FRAMES_CHECKED)]
    return pts if decoded_times == sorted(decoded_times) else ()


def _counts_frames(video: _OpenVideo) -> bool:
    """Return whether the times of AVI, which are numbers of packets, are those of frames, also after a seek.

    This holds if frames are shown in the order in which they are decoded, and if the file's index has every packet at
    the place and with the number that it has in the file: a lost packet changes the numbers of all later ones. After a
    corrupt packet they may be wrong too.
    """
    if reorders(video.stream, video.packets) or any(packet.is_corrupt for packet in video.packets):
        return False
    of_index = [(entry.timestamp, entry.pos + CHUNK) for entry in video.stream.index_entries if entry.size]
    return of_index == [(packet.dts, packet.pos) for packet in video.packets if packet.pts == packet.dts]


def _decoding_times(video: _OpenVideo, shown: Sequence[Seen]) -> list[int]:
    """Return decoding times, which have the same steps as presentation times; empty if unknown or not ascending.

    A stream without times may have pictures that say how long each is shown (soft telecine of MPEG-2). FFmpeg adds
    these durations up. If all are equal, they are its own, and there are no times.
    """
    if video.has_timestamps:
        times = [packet.dts for packet in shown if packet.dts is not None]
        return times if len(times) == len(shown) and times == sorted({*times}) else []

    ordered = sorted((packet for packet in shown if packet.pts is not None), key=lambda packet: packet.pts or 0)
    durations = [packet.duration or 0 for packet in ordered]
    times = [packet.pts or 0 for packet in ordered]
    steps = [later - time for time, later in pairwise(times)]
    agreeing = sum(step == duration for step, duration in zip(steps, durations, strict=False))
    if len({*times}) < len(shown) or len({*durations}) < 2 or agreeing < AGREEING * len(steps):
        return []
    return times


def _key_times(video: _OpenVideo, pts: Sequence[int], *, counted: bool) -> Sequence[int]:
    """Return the times at which decoding can start; empty if it can start only at the first frame."""
    if not pts or not seeks(video.stream, video.packets):
        return ()

    times = {packet.pts for packet in video.packets if packet.is_keyframe and packet.pts is not None}
    if counted:
        times &= {*pts}
    return compact(times)


def _damage(
    video: _OpenVideo, starts: Mapping[int, bool], pts: Sequence[int], *, spoiled: Sequence[int]
) -> tuple[Sequence[int], str]:
    """Return the numbers of the damaged frames, and the reason; ``spoiled``: those that the decoder reports."""
    damaged, reason = reported(video.packets, starts, pts)
    if damaged and not pts:
        raise av.InvalidDataError(0, f"{reason}, and without times its frames cannot be told apart")

    lost = beside_gaps(video.packets, pts, video.time_base)
    if not damaged:
        reason = LOST_PLACE if lost else "says the decoder"
        damaged = lost
    if pts:
        damaged = sorted({*damaged, *lost, *spoiled})
    return damaged, reason if damaged else ""


def _check_end(video: _OpenVideo, packets: Sequence[Seen]) -> None:
    """Raise an ``av.InvalidDataError`` if the header announces more than the packets hold."""
    times = sorted({packet.pts for packet in packets if packet.pts is not None})
    if not times or video.stream.time_base is None:
        return

    usual = usual_step(times)
    durations = [packet.duration or 0 for packet in packets[-TAIL:] if packet.pts == times[-1]]
    end = times[-1] + max([usual, *durations])

    base = video.stream.time_base
    check_end(
        video.container,
        video.stream,
        video.path,
        first=float(times[0] * base),
        end=float(end * base),
        step=float(usual * base),
    )


def _lead(video: _OpenVideo, times: Sequence[int]) -> Fraction:
    """Return the seconds from the start of the file, of its earliest stream, to the first frame."""
    start = video.container.start_time
    if start is None or not times or not video.has_timestamps:
        return Fraction(0)
    lead = times[0] * video.time_base - Fraction(start, av.time_base)
    return lead if lead >= Fraction(1, LEAST_LEAD) else Fraction(0)


def _seconds(video: _OpenVideo, times: Sequence[int], *, count: int) -> Fraction:
    """Return the duration of ``count`` frames, last frame included; ``times`` are theirs, empty if unknown."""
    rate = Fraction(video.stream.average_rate or USUAL_RATE)
    if not video.has_timestamps:
        rate = Fraction(video.stream.guessed_rate or rate)  # the header's; the other is FFmpeg's usual rate
    if not times:
        return count / rate

    # the last frame lasts as long as the frame before it
    last = 1 / rate
    if len(times) > 1:
        last = (times[-1] - times[-2]) * video.time_base
    return (times[-1] - times[0]) * video.time_base + last
