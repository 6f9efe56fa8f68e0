"""Videos that a model was trained on, as its checkpoint keeps them: digests of their paths and contents, and spans."""

import os
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.utils.parallel import with_progress
from lit_video.utils.text import to_bytes
from lit_video.video.clips import VideoRecord

PART, PARTS = 2**16, 16  # bytes of a part, and parts of a file, that its digest reads
READERS = 16  # on a network disk each file waits for its answer
NO_END = 2**62


def trained_on(records: Sequence[VideoRecord]) -> str:
    """Return the videos as text for a checkpoint, 43 characters a video."""
    return _text(np.unique(_rows(records), axis=0))


def joined(*texts: str) -> str:
    """Return all videos of several such texts, each once."""
    given = [text for text in texts if text]
    return _text(np.unique(np.concatenate([*map(_array, given)]), axis=0)) if given else ""


def noted(network: Any, text: str = "") -> str:
    """Add videos to those that a network was trained on, an attribute of it; returns all."""
    known = str(getattr(network, "trained_on", ""))
    if text not in ("", known):  # each checkpoint asks, mostly for what is known
        network.trained_on = known = joined(known, text)
    return known


def seen(text: str, records: Sequence[VideoRecord]) -> list[bool]:
    """Return whether some time of each video was trained on: its path or its content is that of a training video."""
    known, asked = _array(text), _rows(records)
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for path, content, start, end in known[np.isin(known[:, :2], asked[:, :2]).any(1)].tolist():
        spans[path].append((start, end))
        spans[content].append((start, end))
    spans.pop(0, None)
    return [
        any(start < stop and begin < end for key in (path, content) for begin, stop in spans.get(key, ()))
        for path, content, start, end in asked.tolist()
    ]


def said(flags: Sequence[bool | None]) -> str:
    """Return how many videos were trained on, to go on in the line of a number; empty where none is known to be."""
    return f"{flags.count(True)} of {len(flags)} trained on" if True in flags else ""


def _rows(records: Sequence[VideoRecord]) -> NDArray[np.int64]:
    """Return ``(videos, 4)``: digests of path and content, start and end in milliseconds."""
    listed = [*records]
    paths = dict.fromkeys(record.path for record in listed)
    with ThreadPool(READERS) as pool:
        read = with_progress(pool.imap(_content, paths), len(paths), "digests of videos")
        contents = dict(zip(paths, read, strict=True))
    rows = [
        (
            _digest(b"path", to_bytes(os.path.realpath(record.path))),
            contents[record.path],
            round(1000 * (record.start or 0)),
            NO_END if record.end is None else round(1000 * record.end),
        )
        for record in listed
    ]
    return np.array(rows, np.int64).reshape(-1, 4)


def _content(path: Path) -> int:
    """Digest a file by its size and parts of it, all of a small one, a folder by some pictures; 0 without a file."""
    try:
        if path.is_dir():
            names = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
            some = [names[i] for i in np.linspace(0, len(names) - 1, min(PARTS, len(names))).astype(int)]
            return _digest(b"folder", str([len(names), *(_content(path / name) for name in some)]).encode())
        size = path.stat().st_size
        with path.open("rb") as file:
            parts = [str(size).encode()]
            spread = np.linspace(0, max(0, size - PART), PARTS).astype(int).tolist()
            for start in spread if size > PARTS * PART else range(0, size, PART):
                file.seek(start)
                parts.append(file.read(PART))
        return _digest(*parts)
    except OSError:
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
