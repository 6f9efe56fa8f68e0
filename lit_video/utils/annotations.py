"""Annotation tables (csv, JSON) read row by row; errors name file, line and column."""

import csv
import io
import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.utils.text import did_you_mean

_NO_UTF8 = re.compile("[\udc80-\udcff]")
_QUOTED = re.compile('"[^"]*"')
_CLOCK = re.compile(r"(\d+:)?\d+:\d+(\.\d+)?")
MOST_OF_LINE = 10_000  # bytes of a line that are looked at before a file is known to be a table
SEPARATORS = "|;"  # marks between several labels of a video, which no class name may have


@dataclass(frozen=True, slots=True)
class AnnotationRow:
    """One row of a table."""

    where: str  # setting, file and line, for messages
    cells: Mapping[str, str]  # text by column, stripped

    def error(self, column: str, what: str) -> UserError:
        """Return the error of a cell, with its file and line."""
        return UserError(f"{self.where}, column {column}: {what}")

    def text(self, column: str) -> str:
        """Return a cell that must not be empty."""
        if not self.cells[column]:
            raise self.error(column, "is empty; fill it in, or delete the row")
        return self.cells[column]

    def whole(self, column: str, below: int = 10**9) -> int:
        """Return a cell as an integer from 0 to ``below - 1``."""
        text = self.text(column)
        if not text.isdecimal() or int(text) >= below:
            raise self.error(column, f"is {text!r}, expected a whole number from 0 to {below - 1}")
        return int(text)

    def member(self, column: str, numbers: Mapping[str, int], name: str | None = None) -> int:
        """Return the class number of a cell, or of a name made from it."""
        if name is None:
            name = self.text(column)
        if name not in numbers:
            first = ", ".join(list(numbers)[:3])
            near = did_you_mean(name, numbers)
            raise self.error(column, f"{name!r} is none of the {len(numbers)} classes ({first}, ...){near}; correct it")
        return numbers[name]

    def seconds(self, column: str) -> float | None:
        """Return a time given in seconds or as ``[HH:]MM:SS.s``; ``None`` if the cell or the column is absent."""
        text = self.cells.get(column, "")
        if not text:
            return None

        parts = text.split(":") if _CLOCK.fullmatch(text) else [text]
        try:
            time = sum(float(part) * 60**i for i, part in enumerate(reversed(parts)))
        except ValueError:
            time = math.nan

        if not 0 <= time < math.inf:
            raise self.error(column, f"is {text!r}, expected seconds from 0 or HH:MM:SS")
        return time

    def segment(self, start: str, end: str) -> tuple[float | None, float | None]:
        """Return start and end in seconds; refuse an end that is not after the start."""
        first = self.seconds(start)
        last = self.seconds(end)
        if last is not None and last <= (first or 0):
            raise self.error(end, f"ends at {last:g} s, not after its start at {first or 0:g} s; correct one of them")
        return first, last

    def inside(self, column: str, root: str | Path) -> str:
        """Return a cell's path, absolute or relative to ``root``, as text (faster than a Path); refuse one outside."""
        text = self.text(column)
        path = os.path.normpath(os.path.join(root, text))
        if not path.startswith(os.path.join(os.path.normpath(root), "")):
            raise self.error(column, f"{text} lies outside {root}; give a root that holds all videos")
        return path


def read_text(key: str, path: Path, errors: str = "strict") -> str:
    """Read a text file, with or without a byte order mark; ``key`` is the setting that a message names."""
    if path.exists() and not path.is_file():
        raise UserError(f"{key}: {path} is no plain file")
    try:
        return path.read_bytes().decode("utf-8-sig", errors)  # not as text, because a file's name may hold "\r"
    except UnicodeDecodeError as error:
        raise UserError(f"{key}: {path} is no UTF-8 text at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read: {error.strerror}") from None


def read_json(key: str, path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(read_text(key, path))
    except json.JSONDecodeError as error:
        raise UserError(f"{key}: {path} is no JSON, line {error.lineno}: {error.msg}") from None


def read_entries(key: str, path: Path, columns: Sequence[str]) -> list[AnnotationRow]:
    """Read a JSON file that lists objects with at least these keys; the first key identifies an object."""
    entries = read_json(key, path)
    if not isinstance(entries, list) or not entries:
        raise UserError(f"{key}: {path} lists no video; put the released file there")

    rows = []
    for number, entry in enumerate(entries, 1):
        where = f"{key}: {path}, entry {number}"
        absent = [name for name in columns if not isinstance(entry, dict) or name not in entry]
        if absent:
            raise UserError(f"{where} has no {absent[0]!r}; is it another data set's file?")
        rows.append(AnnotationRow(where, {name: str(entry[name]).strip() for name in columns}))

    refuse_repeats(rows, columns[0])
    return rows


def read_annotations(
    key: str,
    path: Path,
    columns: Sequence[str],
    *,
    headless: Sequence[str] | None = None,
    delimiter: str | None = None,
    optional: Sequence[str] = (),
    unique: str | None = None,
    files: str | None = None,
) -> list[AnnotationRow]:
    """Read a table separated by commas, tabs, semicolons or spaces; names of columns are read in any case.

    Args:
        key: the setting that messages name.
        path: the file.
        columns: names that the header must hold.
        headless: column names of a file without header, of which the last ones may be missing unless they are in
            ``columns``. A first line with any of ``columns`` is a header all the same. ``None`` if the file must have
            a header.
        delimiter: separator; ``None`` to find it from the lines.
        optional: names that the header may hold.
        unique: a column whose cells must differ.
        files: a column of file names, which need not be valid UTF-8.
    """
    lines = _lines(key, path, delimiter, any_bytes=files is not None)
    if not lines:
        raise UserError(f"{key}: {path} is empty; put the annotations there")

    first_cells = spelled(lines[0][1], (*columns, *optional))
    if headless is not None and not set(columns) & set(first_cells):
        header = list(headless)
        least = 1 + max(header.index(name) for name in columns)
    else:
        header = first_cells
        least = len(header)
        lines = lines[1:]
        _check_header(header, columns, f"{key}: {path}, line 1")
    if not lines:
        raise UserError(f"{key}: {path} holds a header only; add a row per video")

    rows = [_row(f"{key}: {path}, line {number}", header, cells, least=least) for number, cells in lines]
    if unique:
        refuse_repeats(rows, unique)
    if files:
        for row in rows:
            if _NO_UTF8.search("".join(row.cells.values())) and not _NO_UTF8.search(row.cells[files]):
                read_text(key, path)  # raises the error: another cell than the file name is not UTF-8
    return rows


def _check_header(header: Sequence[str], columns: Sequence[str], where: str) -> None:
    """Refuse a header that lacks one of the columns, or names one twice."""
    for name in columns:
        if name not in header:
            raise UserError(f"{where}: no column {name!r}, only {', '.join(header)[:200]}; is it the right file?")
    for name in header:
        if name and header.count(name) > 1:
            raise UserError(f"{where}: column {name!r} is there twice; rename one")


def spelled(names: Iterable[str], expected: Iterable[str]) -> list[str]:
    """Return column names; one that differs from an expected name only by case is spelled like it."""
    spelling = {name.casefold(): name for name in expected}
    return [spelling.get(name.casefold(), name) for name in names]


def refuse_repeats(
    rows: Iterable[AnnotationRow], column: str, identity: Callable[[AnnotationRow], object] | None = None
) -> None:
    """Refuse two rows with the same cell in the column, or with the same result of ``identity``."""
    seen: dict[object, AnnotationRow] = {}
    same = identity or (lambda row: row.cells[column])
    for row in rows:
        other = seen.setdefault(same(row), row)
        if other is not row:
            line = other.where.rpartition(", ")[2]
            raise row.error(column, f"{row.cells[column]} is there already, at {line}; delete one")


def multi_hot(numbers: Collection[int], classes: int) -> tuple[int, ...]:
    """Return a one for each class in ``numbers``, a zero for all others."""
    return tuple(int(number in numbers) for number in range(classes))


def exactly(count: int, names: Collection[str], path: Path) -> list[str]:
    """Return the names of a data set's classes; refuse another number than ``count``."""
    if len(names) != count:
        part = "to try a part of the data set keep the released files whole, and set data.missing: skip"
        raise UserError(f"data.root: {path} has {len(names)} classes, expected {count}; {part}")
    return list(names)


def numbered(
    rows: Sequence[AnnotationRow], columns: tuple[str, str], count: int, *, path: Path, first: int = 0
) -> list[str]:
    """Return ``count`` class names sorted by number (from ``first``); ``columns`` hold number and name."""
    number, name = columns
    refuse_repeats(rows, number, lambda row: row.whole(number, first + count))
    ordered = sorted(rows, key=lambda row: row.whole(number))
    return exactly(count, [row.text(name) for row in ordered], path)


def first_rows(path: Path, most: int) -> list[list[str]]:
    """Return the cells of a table's first lines, at most ``most``; fewer from where it is no table."""
    try:
        with path.open("rb") as file:
            lines = list(islice(file, most + 1))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    text = b"".join(line[:MOST_OF_LINE] for line in lines).decode("utf-8-sig", "surrogateescape")

    rows: list[list[str]] = []
    with suppress(csv.Error):
        for cells in _reader(text, None):
            rows.append([cell.strip() for cell in cells])
    return [cells for cells in rows if any(cells)][:most]


def _reader(text: str, delimiter: str | None) -> Any:
    """Return a reader of a table's lines; the separator is the mark in most lines, as cells may hold the others."""
    lines = re.split(r"\r\n|\r|\n", text.lstrip())
    marks = sorted(set("\t,;").intersection(_QUOTED.sub("", lines[0]))) or [" "]
    mark = delimiter or max(marks, key=lambda mark: sum(mark in line for line in lines))
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=True)


def _lines(key: str, path: Path, delimiter: str | None, *, any_bytes: bool) -> list[tuple[int, list[str]]]:
    """Return line number and cells of every line that is not blank."""
    text = read_text(key, path, "surrogateescape" if any_bytes else "strict")
    if any_bytes and "\0" in text:  # UTF-16
        text = read_text(key, path)

    reader = _reader(text, delimiter)
    try:
        rows = [(reader.line_num, list(map(str.strip, cells))) for cells in reader]
    except csv.Error as error:
        raise UserError(f"{key}: {path}, line {reader.line_num}: {error}; correct the quotes") from None
    return [(number, cells) for number, cells in rows if any(cells)]


def _row(where: str, header: list[str], cells: list[str], *, least: int) -> AnnotationRow:
    """Return a row of a table; refuse fewer than ``least`` cells, or more than the header has."""
    while len(cells) > len(header) and not cells[-1]:
        cells = cells[:-1]

    if not least <= len(cells) <= len(header):
        expected = str(least) if least == len(header) else f"{least} to {len(header)}"
        advice = "quote text that holds the separator, or name all columns in the first line"
        raise UserError(f"{where}: {len(cells)} fields, expected {expected} ({', '.join(header)[:80]}); {advice}")

    return AnnotationRow(where, dict(zip(header, cells, strict=False)))
