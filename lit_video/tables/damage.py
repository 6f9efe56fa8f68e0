"""Damaged files of runs: left out and named, so that one stops no table. Imports no torch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from lit_video.errors import UserError

T = TypeVar("T")
DAMAGED = "damaged"  # what a table shows of a row whose results are all left out


class Damage:
    """What was left out, a line for each file: its name, what is wrong with it, what to do."""

    def __init__(self) -> None:
        self._by_folder: dict[str, Path] = {}

    @property
    def lines(self) -> list[str]:
        """In the order in which they were found, each once."""
        return list(self._by_folder)

    def of(self, folder: Path) -> list[str]:
        """Those of files below a folder."""
        return [line for line, place in self._by_folder.items() if place.is_relative_to(folder)]

    def read(self, reader: Callable[[Path], T], folder: Path) -> T | None:
        """What the reader gives for a folder; ``None``, and a line more, if it finds the file damaged."""
        try:
            return reader(folder)
        except UserError as error:
            self.add(folder, str(error))
            return None

    def add(self, folder: Path, line: str) -> None:
        """Leave out a folder's file."""
        self._by_folder.setdefault(line, folder)

    def report(self) -> int:
        """Print the lines on stderr; returns the exit status: 1 if something was left out."""
        for line in self.lines:
            print(f"left out: {line}", file=sys.stderr)
        return int(bool(self.lines))
