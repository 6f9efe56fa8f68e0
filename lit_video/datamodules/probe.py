"""The manifest row of a video, filled from its packets and from its first frame or all frames."""

from __future__ import annotations

import json
import os
from array import array
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from stat import S_ISDIR
from typing import Literal

from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, Frames, FrameTable, forget_tables
from lit_video.video.decoding.container import open_video, reading
from lit_video.video.decoding.decoder import PREDICTED, judged, spoiled
from lit_video.video.decoding.table_of_frames import compact

VideoStatus = Literal["ok", "damaged", "missing", "broken"]


@dataclass(slots=True)
class VideoInfo:
    """A row of a manifest."""

    path: str  # relative to the root
    size: int | None = None  # bytes of the file, or of all files of a folder of frames
    mtime: int | None = None  # last change, in nanoseconds since 1970
    status: VideoStatus = "ok"  # damaged: some frames cannot be used; broken: cannot be read, or ends early
    reason: str = ""  # reason of a status other than ok
    frames: int | None = None  # number of frames
    seconds: float | None = None  # duration, last frame included
    width: int | None = None  # pixels, after rotation
    height: int | None = None
    fps: float | None = None  # frames per second, on average
    damaged: int = 0  # number of damaged frames; the table lists them
    gap: str = ""  # description of gaps in time, which may be pauses or lost data
    decoded: bool = False  # True if all frames were decoded
    table: str | None = None  # the frame table, see packed_table()

    def same_file(self, other: VideoInfo) -> bool:
        """Return whether both rows describe the same state of a file."""
        return (self.size, self.mtime) == (other.size, other.mtime)


def stamp(path: Path, name: str) -> VideoInfo:
    """Return size and time of last change of a file or a folder of frames; status ``missing`` if absent."""
    try:
        status = path.stat()
        size = status.st_size
        newest = status.st_mtime_ns
        if S_ISDIR(status.st_mode):
            images = [entry.stat() for entry in os.scandir(path) if entry.is_file()]
            size = sum(image.st_size for image in images)
            newest = max([newest, *(image.st_mtime_ns for image in images)])
    except FileNotFoundError:
        return VideoInfo(name, status="missing", reason="no such file")
    except OSError as error:
        return VideoInfo(name, status="broken", reason=error.strerror or str(error))

    return VideoInfo(name, size=size, mtime=newest)


def probe_video(path: Path, name: str, *, every_frame: bool, fps: float | None = None) -> VideoInfo:
    """Read a video's packets, or list a folder's images (with ``fps``); decode the first frame or all."""
    info = stamp(path, name)
    if info.status != "ok":
        return info

    record = VideoRecord(path, label=0, fps=fps)
    forget_tables()  # the file may have changed
    try:
        table, picture = _decoded(record, every_frame=every_frame)
    except DecodeError as error:
        info.status = "broken"
        info.reason = str(error).removeprefix(f"{path}: ")
        return info

    seconds = float(table.seconds)
    info.frames = table.count
    info.seconds = seconds
    info.height, info.width = picture.shape[1:3]
    info.fps = round(table.count / seconds, 3)
    info.damaged = len(table.damaged)
    info.gap = table.gap
    info.decoded = every_frame
    info.table = packed_table(table)
    if table.damaged:
        info.status = "damaged"
        info.reason = f"{table.where(table.damaged)} damaged: {table.damage}"
    return info


def _decoded(record: VideoRecord, *, every_frame: bool) -> tuple[FrameTable, Frames]:
    """Return a video's table and its first sound frame; decode all frames if asked for, or if the first one fails."""
    table = record.table()
    if not every_frame:
        with suppress(DecodeError):
            return table, _first(record, table)

    table = _decode_all(record, table)
    return table, _first(record, table)


def _first(record: VideoRecord, table: FrameTable) -> Frames:
    """Decode the first frame that is not known to be damaged; earlier frames may refer to missing frames."""
    sound = {*range(table.count)}.difference(table.damaged)
    if not sound:
        raise DecodeError(f"{record.path}: all frames damaged: {table.damage}")
    return record.decode([min(sound)])


def _decode_all(record: VideoRecord, table: FrameTable) -> FrameTable:
    """Decode all frames; return the table with all damaged frames, also those that refer to missing or bad ones."""
    if record.fps is not None:
        for number in range(table.count):
            record.decode([number])
        return table

    path = record.path
    sound: list[int | None] = []  # times of good frames
    bad: list[int | None] = []
    partial: set[int | None] = set()  # times of key frames that refresh the picture only gradually
    sizes: set[tuple[int, int]] = set()
    with reading(path), open_video(path) as container:
        for frame, is_spoiled in judged(container, timed=bool(table.pts)):
            sizes.add((frame.width, frame.height))
            # an intact key frame after a loss is not bad: a bad one would mark the group before it as damaged too
            is_bad = frame.is_corrupt or (is_spoiled and not frame.key_frame)
            (bad if is_bad else sound).append(frame.pts)
            if frame.key_frame and frame.pict_type in PREDICTED:
                partial.add(frame.pts)
    if len(sizes) > 1:
        raise DecodeError(f"{path}: its frames have several sizes")
    if not table.pts and len(sound) < table.count:
        raise DecodeError(f"{path}: {len(sound)} of {table.count} frames can be decoded without errors")

    damaged_times = {table.pts[number] for number in table.damaged}
    missing = {*table.pts} - damaged_times - ({*sound} - {*bad})
    if not missing:
        return table

    keys = sorted({*table.keyframes} - partial)
    damaged = {*spoiled(table.pts, keys, missing), *table.damaged}
    reason = table.damage or "they cannot be decoded without errors"
    return replace(table, damaged=compact(damaged), damage=reason)


def packed_table(table: FrameTable) -> str:
    """Return a frame table as JSON."""
    return json.dumps(asdict(table), default=_plain, separators=(",", ":"))


def unpacked_table(packed: str) -> FrameTable:
    """Return the frame table from the JSON of :func:`packed_table`."""
    row = json.loads(packed, object_hook=_range_of)
    for name, value in row.items():
        if name in ("time_base", "seconds", "lead"):
            row[name] = Fraction(value)
        elif isinstance(value, list):
            row[name] = compact(value)
    return FrameTable(**row)


def _range_of(entries: dict[str, list[int]]) -> object:
    """Return the range that an object of the JSON stands for, or the object itself if it is none."""
    if "range" not in entries:
        return entries
    start, stop, step = entries["range"]
    return range(start, stop, step)


def _plain(value: object) -> object:
    """Return a value that JSON cannot hold as an object, a list or text that stands for it."""
    if isinstance(value, range):  # evenly spaced times, the usual case
        return {"range": [value.start, value.stop, value.step]}
    return list(value) if isinstance(value, array) else str(value)
