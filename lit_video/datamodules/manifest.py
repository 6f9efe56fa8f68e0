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

from lit_video.datamodules.probe import VideoInfo, probe_video, stamp, unpacked_table
from lit_video.datamodules.records import relative
from lit_video.errors import UserError
from lit_video.utils.messages import ASIDE
from lit_video.utils.parallel import in_parallel, joined_threads
from lit_video.utils.text import to_bytes, to_text
from lit_video.video.decoding import DecodeError, FrameTable
from lit_video.video.decoding.table_reading import add_source

_logger = logging.getLogger(__name__)

MANIFEST_VERSION = 13  # increment whenever columns, verdicts or frame tables change
MANIFEST = "manifest.sqlite"
LOOKS = 16  # parallel stat calls, because on a network disk most of their time is waiting
ROWS_PER_COMMIT = 16  # rows per commit; a killed check loses at most this many
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
PRAGMA user_version = {MANIFEST_VERSION};
"""


@dataclass(frozen=True)
class Manifest:
    """Manifest for reading: a row for each video, by the path relative to ``root``, with the video's frame table."""

    file: Path
    root: Path = Path()

    def __post_init__(self) -> None:
        version = self._rows("PRAGMA user_version")[0][0]
        if version != MANIFEST_VERSION:
            raise _refused(self.file, f"version {version}, expected {MANIFEST_VERSION}")

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
        if not row.table:
            return None
        return unpacked_table(row.table)

    def faults(self, paths: Iterable[str]) -> dict[str, VideoInfo]:
        """Return the rows of the videos that are broken or damaged and have not changed since the check."""
        rows = self.facts(f"WHERE status IN {_FAULTS}")
        faulty = {str(self.root / name): row for name, row in rows.items()}
        return {path: faulty[path] for path in faulty.keys() & set(paths) if self._holds(faulty[path])}

    def _holds(self, row: VideoInfo) -> bool:
        """Return whether a video has not changed since its row was written."""
        return row.same_file(stamp(self.root / row.path, row.path))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows that a query selects."""
        try:
            with closing(_connect(self.file, "?mode=ro&immutable=1")) as manifest:
                return manifest.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _refused(self.file, error) from error


def _connect(file: Path, mode: str = "") -> sqlite3.Connection:
    """Open a file of SQLite; its texts stay bytes where they are no UTF-8, since file names need not be."""
    connection = sqlite3.connect(file.absolute().as_uri() + mode, uri=True)
    connection.text_factory = to_text
    return connection


def _refused(file: Path, reason: object) -> UserError:
    """Return the error of a file that is no manifest."""
    return UserError(f"{file}: no manifest, or a damaged one ({reason}); delete it, and run data check again")


def write_rows(file: Path, rows: Iterable[VideoInfo]) -> None:
    """Insert rows as they arrive, replacing rows of the same path; create the manifest if needed."""
    with closing(_connect(file)) as manifest:
        manifest.executescript(_CREATE)
        try:
            for number, row in enumerate(rows, 1):
                path, *facts = astuple(row)
                manifest.execute(_INSERT, (to_bytes(path), *facts))
                if number % ROWS_PER_COMMIT == 0:
                    manifest.commit()
        finally:
            manifest.commit()


def scan(videos: Mapping[str, Video], file: Path, every_frame: bool = False) -> Manifest:
    """Probe new, changed and faulty videos, and update the manifest ``file``; ``videos`` maps names to videos.

    Rows are written to a part file immediately, so that a killed scan can resume. An intact video of unchanged size
    and modification time is not read again. ``every_frame`` decodes all frames instead of the first.
    """
    part = file.with_name(f".{file.name}.part{MANIFEST_VERSION}")
    lock = file.with_name(f".{file.name}.lock")
    try:
        part.touch()  # raises a clearer error than the lock
        with FileLock(lock, timeout=0):
            if file.exists() and not part.stat().st_size:
                Manifest(file)  # refuses a file that is no manifest
                copyfile(file, part)
            _scan(videos, part, every_frame)
            part.replace(file)

    except Timeout:
        raise UserError(f"{file}: another process is writing it; wait or stop it") from None
    except (OSError, sqlite3.OperationalError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"-o: cannot write {file} ({reason}); give another file") from error
    except sqlite3.Error as error:
        raise _refused(part, error) from error

    return Manifest(file)


def _scan(videos: Mapping[str, Video], part: Path, every_frame: bool) -> None:
    """Probe the videos whose rows are missing or outdated; delete the rows of other videos."""
    write_rows(part, ())
    rows = Manifest(part).facts()

    items = [*videos.items()]
    with joined_threads(LOOKS) as threads:
        is_changed = threads.map(partial(_is_changed, every_frame, rows), items)
    changed = [*compress(items, is_changed)]
    if 0 < len(changed) < len(items):
        count = f"{len(changed):,} of {len(videos):,} videos (new, changed or broken)"
        _logger.log(ASIDE, f"data check: reads {count}")
    write_rows(part, in_parallel(partial(_row, every_frame), changed, "data check", chunk=8))

    with closing(_connect(part)) as manifest:
        gone = [(to_bytes(name),) for name in rows.keys() - videos.keys()]
        manifest.executemany("DELETE FROM videos WHERE path = CAST(? AS TEXT)", gone)
        manifest.commit()


def _is_changed(every_frame: bool, rows: Mapping[str, VideoInfo], item: tuple[str, Video]) -> bool:
    """Return whether a video must be read: it is new, changed or faulty, or was read in less detail before."""
    name, (path, fps) = item
    row = rows.get(name)
    if row is None or row.status != "ok":
        return True

    is_shorter_look = every_frame and not row.decoded
    is_other_rate = fps is not None and row.fps != round(fps, 3)
    if is_shorter_look or is_other_rate:
        return True
    return not row.same_file(stamp(Path(path), name))


def _row(every_frame: bool, item: tuple[str, Video]) -> VideoInfo:
    """Return the row of a video, read anew."""
    name, (path, fps) = item
    return probe_video(Path(path), name, every_frame=every_frame, fps=fps)


def load_tables(file: Path, root: Path) -> Manifest:
    """Use a manifest's verdicts and frame tables for the videos under ``root`` instead of scanning them."""
    if not file.is_file():
        raise UserError(f"data.manifest: {file} does not exist; data check writes it")

    manifest = Manifest(file, root)
    add_source(manifest)
    return manifest
