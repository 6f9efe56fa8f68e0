"""Files that are either whole or not there. Imports no torch."""

import csv
import io
import os
from collections.abc import Iterable, Sequence
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
