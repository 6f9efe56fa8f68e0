"""A manifest: one row per video of a data set, made in parallel, resumable, written at once."""

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from filelock import FileLock, Timeout

from lit_video.errors import UserError
from lit_video.utils.parallel import in_parallel
from lit_video.video.decoding import DecodeError, FrameTable
from lit_video.video.decoding.frame_table import add_source
from lit_video.video.manifest_file import Manifest, line_of, read_lines, read_manifest
from lit_video.video.probe import VideoInfo, probe, stamp, unpack
from lit_video.video.records import relative
from lit_video.video.texts import to_bytes

Video = tuple[str | Path, float | None]  # path, and the rate of a folder of images
LOOKS = 16  # at a time for size and time of change: on a network's disk each waits for its answer
AT_ONCE = 500  # videos that one of them looks at


def scan(videos: Mapping[str, Video], file: Path, every_frame: bool = False) -> Manifest:
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


def _scan(videos: Mapping[str, Video], file: Path, part: Path, every_frame: bool) -> Manifest:
    earlier, scanned = read_manifest(file), read_lines(part)
    found = earlier.facts() | scanned
    known = partial(_known, every_frame, found)
    items = [*videos.items()]
    with ThreadPoolExecutor(LOOKS) as threads:
        looks = threads.map(known, (items[i : i + AT_ONCE] for i in range(0, len(items), AT_ONCE)))
        kept = {name for names in looks for name in names}
    jobs = [item for item in items if item[0] not in kept]
    if kept and jobs:
        print(f"data check: {len(jobs):,} of {len(videos):,} videos are new or changed", file=sys.stderr, flush=True)
    rows = {name: row for name, row in scanned.items() if name in kept}
    with part.open("a", encoding="utf-8") as log:
        for row in in_parallel(partial(_row, every_frame), jobs, "data check", chunk=8):
            rows[row.path] = row
            log.write(line_of(row))
            log.flush()
    if rows or found.keys() != videos.keys() or not file.exists():
        # row by row: what is made of all takes ten times the memory of the columns
        earlier = Manifest.of(rows[name] if name in rows else earlier[name] for name in sorted(videos, key=to_bytes))
        earlier.write(file)
    part.unlink()
    return earlier


def _known(every_frame: bool, found: Mapping[str, VideoInfo], videos: Iterable[tuple[str, Video]]) -> list[str]:
    """Names of the videos whose earlier rows still hold."""
    names = []
    for name, (path, fps) in videos:
        row = found.get(name)
        known = row and row.sound and row.decoded >= every_frame and row.same_rate(fps)
        if row and known and row.same_file(stamp(Path(path), name)):
            names.append(name)
    return names


def _row(every_frame: bool, named: tuple[str, Video]) -> VideoInfo:
    name, (path, fps) = named
    return probe(Path(path), name, every_frame, fps)


def load_tables(file: Path, root: Path) -> "Tables":
    """Take verdicts and frame tables from a manifest of the videos under ``root``; what it lists is not scanned.

    Raises:
        UserError: there is no such file.
    """
    if not file.is_file():
        raise UserError(f"data.manifest: {file} does not exist; data check writes it")
    add_source(source := tables(file, root))
    return source


class Tables:
    """Verdicts and frame tables of a manifest, by path, as long as the files are as they were."""

    def __init__(self, file: Path, root: Path) -> None:
        self._rows = read_manifest(file)
        self._root = root

    def __call__(self, path: Path) -> FrameTable | None:
        """The table of a video, if its file has not changed.

        Raises:
            DecodeError: the video is broken.
        """
        row = self._rows.get(relative(path, self._root))
        if row is None or row.status == "missing" or not self._holds(row):
            return None
        if row.status == "broken":
            raise DecodeError(f"{path}: {row.reason}")
        return unpack(row.table) if row.table else None

    def faults(self, paths: Iterable[str]) -> dict[str, VideoInfo]:
        """Rows of those videos that are broken or damaged, and have not changed since."""
        rows = [self._rows.row(index) for index in self._rows.numbers_of("broken", "damaged")]
        faulty = {str(self._root / row.path): row for row in rows}
        return {path: faulty[path] for path in dict.fromkeys(paths) if path in faulty and self._holds(faulty[path])}

    def _holds(self, row: VideoInfo) -> bool:
        return row.same_file(stamp(self._root / row.path, row.path))


tables = cache(Tables)  # opened once; a forked worker has its parent's
