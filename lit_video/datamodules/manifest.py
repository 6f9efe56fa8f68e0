"""The manifest of a data set: findings of ``data check`` about every video, in one SQLite file."""

import logging
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from functools import partial
from itertools import compress
from pathlib import Path
from shutil import copyfile
from typing import Any

from filelock import FileLock, Timeout

from lit_video.datamodules.probe import VideoInfo, probe, stamp, unpack
from lit_video.datamodules.records import relative
from lit_video.errors import UserError
from lit_video.utils.messages import ASIDE
from lit_video.utils.parallel import in_parallel, joined_threads
from lit_video.utils.text import to_bytes, to_text
from lit_video.video.decoding import DecodeError, FrameTable
from lit_video.video.decoding.frame_table import add_source

_logger = logging.getLogger(__name__)

VERSION = 11  # increment whenever columns, verdicts or frame tables change
MANIFEST = "manifest.sqlite"
LOOKS = 16  # parallel stat calls: on a network disk each waits for its answer
KEPT = 16  # rows per commit; a killed check loses at most this many
Video = tuple[str | Path, float | None]  # path; frame rate of a folder of images, else None

_COLUMNS = [field.name for field in fields(VideoInfo)]
_ALL = ", ".join(f'"{name}"' for name in _COLUMNS)
_FACTS = _ALL.replace('"table"', "NULL")
_FAULTS = "('broken', 'damaged')"
_INSERT = f"INSERT OR REPLACE INTO videos VALUES (CAST(? AS TEXT){', ?' * (len(_COLUMNS) - 1)})"
_CREATE = f"""
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS videos ({_ALL.replace('"path"', '"path" TEXT PRIMARY KEY')});
CREATE INDEX IF NOT EXISTS faults ON videos (status) WHERE status IN {_FAULTS};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Manifest:
    """Manifest for reading: a row for each video, by the path relative to ``root``, with the video's frame table."""

    file: Path
    root: Path = Path()

    def __post_init__(self) -> None:
        if (version := self._rows("PRAGMA user_version")[0][0]) != VERSION:
            raise _refused(self.file, f"version {version}, expected {VERSION}")

    def get(self, name: str) -> VideoInfo | None:
        """Return the row of a video, if there is one."""
        rows = self._rows(f"SELECT {_ALL} FROM videos WHERE path = CAST(? AS TEXT)", to_bytes(name))
        return VideoInfo(*rows[0]) if rows else None

    def facts(self, which: str = "") -> dict[str, VideoInfo]:
        """Return the rows, without frame tables, that a ``WHERE`` clause selects; without a clause, all rows."""
        rows = self._rows(f"SELECT {_FACTS} FROM videos {which} ORDER BY path")
        return {row[0]: VideoInfo(*row) for row in rows}

    def __call__(self, path: Path) -> FrameTable | None:
        """Return a video's frame table, ``None`` if unknown or outdated; raise a :class:`DecodeError` if broken."""
        row = self.get(relative(path, self.root))
        if row is None or row.status == "missing" or not self._holds(row):
            return None
        if row.status == "broken":
            raise DecodeError(f"{path}: {row.reason}")
        return unpack(row.table) if row.table else None

    def faults(self, paths: Iterable[str]) -> dict[str, VideoInfo]:
        """Return the rows of the videos that are broken or damaged and have not changed since the check."""
        faulty = {str(self.root / path): row for path, row in self.facts(f"WHERE status IN {_FAULTS}").items()}
        return {path: faulty[path] for path in faulty.keys() & set(paths) if self._holds(faulty[path])}

    def _holds(self, row: VideoInfo) -> bool:
        return row.same_file(stamp(self.root / row.path, row.path))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with closing(_connect(self.file, "?mode=ro&immutable=1")) as manifest:
                return manifest.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _refused(self.file, error) from error


def _connect(file: Path, mode: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(file.absolute().as_uri() + mode, uri=True)
    connection.text_factory = to_text
    return connection


def _refused(file: Path, why: object) -> UserError:
    return UserError(f"{file}: no manifest, or a damaged one ({why}); delete it, and run data check again")


def write_rows(file: Path, rows: Iterable[VideoInfo]) -> None:
    """Insert rows as they arrive, replacing rows of the same path; create the manifest if needed."""
    with closing(_connect(file)) as manifest:
        manifest.executescript(_CREATE)
        try:
            for number, row in enumerate(rows, 1):
                manifest.execute(_INSERT, (to_bytes(row.path), *astuple(row)[1:]))
                if number % KEPT == 0:
                    manifest.commit()
        finally:
            manifest.commit()


def scan(videos: Mapping[str, Video], file: Path, every_frame: bool = False) -> Manifest:
    """Probe new, changed and faulty videos, and update the manifest ``file``; ``videos`` maps names to videos.

    Rows are written to a part file immediately, so that a killed scan can resume. An intact video of unchanged size
    and modification time is not read again. ``every_frame`` decodes all frames instead of the first.
    """
    part = file.with_name(f".{file.name}.part{VERSION}")
    try:
        part.touch()  # raises a clearer error than the lock
        with FileLock(file.with_name(f".{file.name}.lock"), timeout=0):
            if file.exists() and not part.stat().st_size:
                Manifest(file)  # refuses a file that is no manifest
                copyfile(file, part)
            _scan(videos, part, every_frame)
            part.replace(file)
    except Timeout:
        raise UserError(f"{file}: another process is writing it; wait or stop it") from None
    except (OSError, sqlite3.OperationalError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"-o: cannot write {file} ({why}); give another file") from error
    except sqlite3.Error as error:
        raise _refused(part, error) from error
    return Manifest(file)


def _scan(videos: Mapping[str, Video], part: Path, every_frame: bool) -> None:
    write_rows(part, ())
    found = Manifest(part).facts()
    items = [*videos.items()]
    with joined_threads(LOOKS) as threads:
        jobs = [*compress(items, threads.map(partial(_changed, every_frame, found), items))]
    if 0 < len(jobs) < len(items):
        _logger.log(ASIDE, f"data check: reads {len(jobs):,} of {len(videos):,} videos (new, changed or broken)")
    write_rows(part, in_parallel(partial(_row, every_frame), jobs, "data check", chunk=8))
    with closing(_connect(part)) as manifest:
        gone = map(to_bytes, found.keys() - videos.keys())
        manifest.executemany("DELETE FROM videos WHERE path = CAST(? AS TEXT)", zip(gone))
        manifest.commit()


def _changed(every_frame: bool, found: Mapping[str, VideoInfo], named: tuple[str, Video]) -> bool:
    name, (path, fps) = named
    row = found.get(name)
    if not row or row.status != "ok" or row.decoded < every_frame or (fps and row.fps != round(fps, 3)):
        return True
    return not row.same_file(stamp(Path(path), name))


def _row(every_frame: bool, named: tuple[str, Video]) -> VideoInfo:
    name, (path, fps) = named
    return probe(Path(path), name, every_frame, fps)


def load_tables(file: Path, root: Path) -> Manifest:
    """Use a manifest's verdicts and frame tables for the videos under ``root`` instead of scanning them."""
    if not file.is_file():
        raise UserError(f"data.manifest: {file} does not exist; data check writes it")
    add_source(source := Manifest(file, root))
    return source
