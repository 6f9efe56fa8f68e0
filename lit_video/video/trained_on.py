"""Videos by digests of paths and contents: those of a training in its checkpoint, and files of equal content."""

import os
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b, file_digest
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lit_video.utils.files import files_below, open_plain
from lit_video.utils.parallel import joined_threads, with_progress
from lit_video.utils.text import to_bytes
from lit_video.video.clips import VideoRecord

PART = 2**12  # bytes of a part of a file
PARTS_READ = 4  # number of parts of a file that its digest reads
READERS = 16  # threads, many of them to hide the latency of a network disk
NO_END = 2**62
UNREADABLE = 0  # digest of a file that cannot be read
# value that is equal for files of equal content, such as the size; None for a file that cannot be compared
Signature = Callable[[Path], Hashable]


def trained_on(records: Sequence[VideoRecord], digested: str = "") -> str:
    """Encode videos as text for a checkpoint, 43 characters per video; videos in ``digested`` are not read again."""
    content_of = dict(_array(digested)[:, :2].tolist())
    rows = _rows(records, content_of)
    return _text(np.unique(rows, axis=0))


def joined(*texts: str) -> str:
    """Merge several texts of :func:`trained_on` without repeats."""
    rows = np.concatenate([_array(text) for text in texts])
    return _text(np.unique(rows, axis=0))


def seen(text: str, records: Sequence[VideoRecord]) -> list[bool]:
    """Return for each video whether any part of it was trained on; a video is known by its path or its content."""
    trained = _array(text)
    asked = _rows(records, {}, progress=True)
    is_asked = np.isin(trained[:, :2], asked[:, :2]).any(1)

    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path, content, start, end in trained[is_asked].tolist():
        spans[path].append((start, end))
        spans[content].append((start, end))
    spans.pop(UNREADABLE, None)

    flags: list[bool] = []
    for path, content, start, end in asked.tolist():
        trained_spans = spans[path] + spans[content]
        flags.append(any(start < trained_end and begin < end for begin, trained_end in trained_spans))
    return flags


def overlap_in_words(flags: Sequence[bool | None]) -> str:
    """Return how many videos were trained on, as a note to a metric; empty for zero."""
    return f"{flags.count(True)} of {len(flags)} trained on" if True in flags else ""


def _rows(
    records: Sequence[VideoRecord], content_of: Mapping[int, int], *, progress: bool = False
) -> NDArray[np.int64]:
    """Return ``(videos, 4)``: digests of path and content, start and end in ms.

    ``content_of`` has the digests of contents, by those of paths, that are known already.
    """
    listed = [*records]
    paths = list(dict.fromkeys(record.path for record in listed))
    with joined_threads(READERS) as pool:
        digests: Iterable[tuple[int, int]] = pool.imap(partial(_digests, content_of), paths, chunksize=8)
        if progress:
            digests = with_progress(digests, len(paths), "digests of videos")
        digests_of = dict(zip(paths, digests, strict=True))

    rows: list[tuple[int, int, int, int]] = []
    for record in listed:
        path_digest, content = digests_of[record.path]
        start = round(1000 * (record.start or 0))
        end = NO_END if record.end is None else round(1000 * record.end)
        rows.append((path_digest, content, start, end))
    return np.array(rows, np.int64).reshape(-1, 4)


def _digests(content_of: Mapping[int, int], path: Path) -> tuple[int, int]:
    """Return the digests of a path and of its content."""
    path_digest = _digest(b"path", to_bytes(os.path.realpath(path)))
    if path_digest in content_of:
        return path_digest, content_of[path_digest]
    return path_digest, content_digest(path)


def content_digest(path: Path) -> int:
    """Digest a file's size and some of its parts (all of a small file), or some files of a folder; 0 if unreadable."""
    try:
        if path.is_dir():
            names = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
            contents = [len(names)]
            for position in np.linspace(0, len(names) - 1, min(PARTS_READ, len(names))).astype(int):
                contents.append(content_digest(path / names[position]))
            return _digest(b"folder", str(contents).encode())

        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= PARTS_READ * PART:
                return _digest(str(size).encode(), file.read())
            offsets = [number * (size - PART) // (PARTS_READ - 1) for number in range(PARTS_READ)]
            parts = [os.pread(file.fileno(), PART, offset) for offset in offsets]
            return _digest(str(size).encode(), *parts)
    except (OSError, ValueError):
        return UNREADABLE


def _digest(*parts: bytes) -> int:
    """Hash parts to a signed number of 64 bits."""
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _text(rows: NDArray[np.int64]) -> str:
    """Encode rows as text, see :func:`_array`."""
    return b64encode(rows.astype("<i8").tobytes()).decode()


def _array(text: str) -> NDArray[np.int64]:
    """Decode rows ``(videos, 4)``: digests of path and content, start and end in ms."""
    return np.frombuffer(b64decode(text, validate=True), "<i8").reshape(-1, 4)


def copies(paths: Iterable[str]) -> dict[str, str]:
    """Map every file that has a copy among ``paths`` to the first file of its content, which is mapped to itself.

    A path may be a folder of frames. Sizes are compared first, then parts of files of equal size, then whole files.
    """
    groups = [[*dict.fromkeys(paths)]]
    with joined_threads(READERS) as pool:
        for sign in (_size, content_digest, whole_digest):
            divided: list[list[str]] = []
            for group in groups:
                divided += _divided(group, sign, pool)
            groups = divided

    first_of: dict[str, str] = {}
    for group in groups:
        for path in group:
            first_of[path] = group[0]
    return first_of


def whole_digest(path: Path) -> str:
    """Return the digest of a video's content, or the digests of a folder's files."""
    digests = []
    for file in files_below(path) if path.is_dir() else [path]:
        with open_plain(file) as content:
            digests.append(file_digest(content, "blake2b").hexdigest())
    return ",".join(digests)


def _divided(paths: list[str], sign: Signature, pool: ThreadPool) -> list[list[str]]:
    """Divide paths into groups of equal signature; leave out a path whose signature no other has."""

    def sign_of(path: str) -> Hashable:
        try:
            return sign(Path(path))
        except (OSError, ValueError):  # an unreadable file equals no other
            return None

    groups: dict[Hashable, list[str]] = defaultdict(list)
    signs = pool.map(sign_of, paths, chunksize=16)
    for path, sign_of_path in zip(paths, signs, strict=True):
        if sign_of_path:
            groups[sign_of_path].append(path)
    return [group for group in groups.values() if len(group) > 1]


def _size(path: Path) -> Hashable:
    """Return the bytes of a file, or of each file of a folder."""
    if not path.is_dir():
        return path.stat().st_size
    sizes = sorted(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
    return tuple(sizes) or None
