"""Training videos in a checkpoint: digests of their paths and contents, and time spans."""

import os
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lit_video.utils.files import open_plain
from lit_video.utils.parallel import joined_threads, with_progress
from lit_video.utils.text import to_bytes
from lit_video.video.clips import VideoRecord

PART, PARTS = 2**12, 4  # a file's digest reads PARTS parts of PART bytes
READERS = 16  # many, to hide the latency of a network disk
NO_END = 2**62


def trained_on(records: Sequence[VideoRecord], known: str = "") -> str:
    """Encode videos as text for a checkpoint, 43 characters per video; do not read videos in ``known`` again."""
    contents = dict(_array(known)[:, :2].tolist())
    return _text(np.unique(_rows(records, contents), axis=0))


def joined(*texts: str) -> str:
    """Merge several texts of :func:`trained_on` without repeats."""
    return _text(np.unique(np.concatenate([*map(_array, texts)]), axis=0))


def seen(text: str, records: Sequence[VideoRecord]) -> list[bool]:
    """Return for each video whether any part of it was trained on; path or content identify a video."""
    known, asked = _array(text), _rows(records, {}, progress=True)
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path, content, start, end in known[np.isin(known[:, :2], asked[:, :2]).any(1)].tolist():
        spans[path].append((start, end))
        spans[content].append((start, end))
    spans.pop(0, None)
    flags = []
    for path, content, start, end in asked.tolist():
        trained = spans[path] + spans[content]
        flags.append(any(start < stop and begin < end for begin, stop in trained))
    return flags


def said(flags: Sequence[bool | None]) -> str:
    """Return how many videos were trained on, as a note to a metric; empty for zero."""
    return f"{flags.count(True)} of {len(flags)} trained on" if True in flags else ""


def _rows(records: Sequence[VideoRecord], known: Mapping[int, int], progress: bool = False) -> NDArray[np.int64]:
    """Return ``(videos, 4)``: digests of path and content, start and end in ms; ``known`` maps path to content."""
    listed = [*records]
    paths = list(dict.fromkeys(record.path for record in listed))
    with joined_threads(READERS) as pool:
        read: Iterable[tuple[int, int]] = pool.imap(partial(_digests, known), paths, chunksize=8)
        if progress:
            read = with_progress(read, len(paths), "digests of videos")
        digests = dict(zip(paths, read, strict=True))
    rows = []
    for record in listed:
        end = NO_END if record.end is None else round(1000 * record.end)
        rows.append((*digests[record.path], round(1000 * (record.start or 0)), end))
    return np.array(rows, np.int64).reshape(-1, 4)


def _digests(known: Mapping[int, int], path: Path) -> tuple[int, int]:
    name = _digest(b"path", to_bytes(os.path.realpath(path)))
    return name, known[name] if name in known else content_digest(path)


def content_digest(path: Path) -> int:
    """Digest a file's size and some of its parts (all of a small file), or some files of a folder; 0 if unreadable."""
    try:
        if path.is_dir():
            names = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
            contents = [len(names)]
            for i in np.linspace(0, len(names) - 1, min(PARTS, len(names))).astype(int):
                contents.append(content_digest(path / names[i]))
            return _digest(b"folder", str(contents).encode())
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= PARTS * PART:
                return _digest(str(size).encode(), file.read())
            parts = []
            for i in range(PARTS):
                parts.append(os.pread(file.fileno(), PART, i * (size - PART) // (PARTS - 1)))
        return _digest(str(size).encode(), *parts)
    except (OSError, ValueError):
        return 0


def _digest(*parts: bytes) -> int:
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _text(rows: NDArray[np.int64]) -> str:
    return b64encode(rows.astype("<i8").tobytes()).decode()


def _array(text: str) -> NDArray[np.int64]:
    return np.frombuffer(b64decode(text, validate=True), "<i8").reshape(-1, 4)
