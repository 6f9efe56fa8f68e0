"""Files that are either whole or not there. Imports no torch."""

import csv
import io
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a text that is either whole or not there."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def write_table(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a csv that is either whole or not there."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue())


def read_text(path: Path, limit: int = 64 << 20) -> str:
    """The text of a file of reasonable size, in UTF-8.

    Args:
        path: of a plain file.
        limit: bytes; a larger file is damage, or not ours, and is not read.

    Raises:
        ValueError: it is larger, is no plain file, or is not UTF-8.
        OSError: it cannot be read.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("no plain file")
    if found.st_size > limit:
        raise ValueError(f"of {found.st_size / 2**20:.0f} MB, more than {limit >> 20}")
    return path.read_text(encoding="utf-8")


def files_below(folder: Path) -> Iterator[Path]:
    """All files in a folder and those in it, in the order of names; links to folders are followed, each folder once."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:  # a link in a circle
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (Path(place) / name for name in sorted(names))
