"""A manifest: one row per video of a data set, made in parallel, resumable, written at once."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any, TypedDict

from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.utils.files import write_atomically
from lit_video.utils.parallel import in_parallel
from lit_video.video.decoding import DecodeError, FrameTable
from lit_video.video.decoding.frame_table import add_source
from lit_video.video.probe import VideoInfo, probe, stamp, unpack

Video = tuple[Path, float | None]  # path, and the rate of a folder of images


class Job(TypedDict):
    """A video to probe: its path, its name in the manifest, the rate of a folder of images, an earlier row of it."""

    path: Path
    name: str
    fps: float | None
    earlier: dict[str, Any] | None


def scan(videos: dict[str, Video], file: Path, every_frame: bool = False) -> dict[str, VideoInfo]:
    """Probe videos, given by name, that an earlier manifest ``file`` does not have as they are now, and write it.

    Rows go to a part file beside it at once, so that a killed scan goes on where it was. A video that was intact is not
    read again while its size and time of change are the same; another is: its disk may work again. Only the first frame
    is decoded, or ``every_frame``.

    Raises:
        UserError: the manifest cannot be written, or is being written by another process.
    """
    part = file.with_name(f".{file.name}.scanned")
    try:
        part.touch()  # its error says more than that of a lock
        with FileLock(file.with_name(f".{file.name}.lock"), timeout=0):
            return _scan(videos, file, part, every_frame)
    except Timeout:
        raise UserError(f"{file}: another process is writing it; wait or stop it") from None
    except OSError as error:
        raise UserError(f"-o: cannot write {file} ({error.strerror}); give another file") from error


def _scan(videos: dict[str, Video], file: Path, part: Path, every_frame: bool) -> dict[str, VideoInfo]:
    earlier = read_rows(file) | read_rows(part)
    jobs = [Job(path=path, name=name, fps=fps, earlier=earlier.get(name)) for name, (path, fps) in videos.items()]
    rows: dict[str, VideoInfo] = {}
    with part.open("a", encoding="utf-8") as log:
        for row, new in in_parallel(partial(_row, every_frame), jobs, "data check", chunk=8):
            rows[row.path] = row
            if new:
                log.write(json.dumps(asdict(row)) + "\n")
                log.flush()
    lines = [json.dumps(asdict(rows[name])) for name in sorted(rows)]
    write_atomically(file, "".join(f"{line}\n" for line in lines))
    part.unlink()
    return rows


def _row(every_frame: bool, job: Job) -> tuple[VideoInfo, bool]:
    """A video's row, and whether it is a new one."""
    if job["earlier"]:
        row = VideoInfo(**job["earlier"])
        if row.sound and row.decoded >= every_frame and row.same_file(stamp(job["path"], job["name"])):
            return row, False
    return probe(job["path"], job["name"], every_frame, job["fps"]), True


def read_rows(file: Path) -> dict[str, dict[str, Any]]:
    """Rows by the video's name, later ones first; a line that is not whole, or from another version, is left out."""
    rows: dict[str, dict[str, Any]] = {}
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and row.keys() == asdict(VideoInfo("")).keys():
            rows[row["path"]] = row
    return rows


def load_tables(file: Path, root: Path, worker: int = 0) -> "Tables":
    """Take verdicts and frame tables from a manifest of the videos under ``root``; what it lists is not scanned.

    Any ``worker`` of a loader may call this.

    Raises:
        UserError: there is no such file.
    """
    if not file.is_file():
        raise UserError(f"data.manifest: {file} does not exist; data check writes it")
    add_source(source := tables(file, root))
    return source


class Tables:
    """Verdicts and frame tables of a manifest, by path, as long as the files are as they were.

    Rows stay text until they are needed: a parsed table takes ten times the memory.
    """

    def __init__(self, file: Path, root: Path) -> None:
        rows = read_rows(file)
        self._rows = {root / name: json.dumps(row) for name, row in rows.items() if row["status"] != "missing"}
        self._faults = {root / name: row for name, row in rows.items() if row["status"] in {"broken", "damaged"}}

    def __call__(self, path: Path) -> FrameTable | None:
        """The table of a video, if its file has not changed.

        Raises:
            DecodeError: the video is broken.
        """
        row = self._info(path, json.loads(self._rows[path])) if path in self._rows else None
        if row and row.status == "broken":
            raise DecodeError(f"{path}: {row.reason}")
        return unpack(row.table) if row and row.table else None

    def faults(self, paths: Iterable[Path]) -> dict[Path, VideoInfo]:
        """Rows of those videos that are broken or damaged, and have not changed since."""
        rows = {path: self._info(path, self._faults[path]) for path in paths if path in self._faults}
        return {path: row for path, row in rows.items() if row}

    def _info(self, path: Path, row: dict[str, Any]) -> VideoInfo | None:
        info = VideoInfo(**row)
        return info if info.same_file(stamp(path, info.path)) else None


tables = cache(Tables)  # read once; a forked worker has its parent's
