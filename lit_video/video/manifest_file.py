"""The file of a manifest: columns mapped into memory, which ranks and workers share, or lines of JSON."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from lit_video.errors import UserError
from lit_video.utils.files import write_atomically, write_bytes
from lit_video.video.probe import Status, VideoInfo
from lit_video.video.texts import Texts, to_bytes

LINES = ".jsonl"  # the ending of a manifest of lines; any other is one of columns
STATUSES: tuple[Status, ...] = get_args(Status)
VERSION = 2  # of a manifest; raised too where a video may get another verdict, or another frame table, than before
_TEXTS = ("path", "reason", "table")
_WHOLE = ("size", "mtime", "status", "frames", "width", "height", "rotation", "damaged", "decoded")
_REAL = ("seconds", "fps")
_NONE = -(2**62)  # a whole number that a row lacks: times before 1970 are negative too


class Manifest(Mapping[str, VideoInfo]):
    """Rows by the video's name, in the order of the names' bytes, each made when it is taken out.

    Args:
        texts: columns of text.
        numbers: columns of numbers.
    """

    def __init__(self, texts: Mapping[str, Texts], numbers: Mapping[str, NDArray[Any]]) -> None:
        self.names = texts["path"]
        self._texts = texts
        self._numbers = numbers

    @classmethod
    def of(cls, rows: Iterable[VideoInfo]) -> Manifest:
        """Rows in the order of their names' bytes."""
        numbers: dict[str, array[Any]] = {name: array("q") for name in _WHOLE}
        numbers |= {name: array("d") for name in _REAL}
        others: dict[str, list[str]] = {"reason": [], "table": []}

        def paths() -> Iterator[str]:
            for row in rows:
                for name in _WHOLE:
                    value = STATUSES.index(row.status) if name == "status" else getattr(row, name)
                    numbers[name].append(_NONE if value is None else int(value))
                for name in _REAL:
                    value = getattr(row, name)
                    numbers[name].append(np.nan if value is None else value)
                others["reason"].append(row.reason)
                others["table"].append("" if row.table is None else json.dumps(row.table, separators=(",", ":")))
                yield row.path

        texts = {"path": Texts.of(paths())} | {name: Texts.of(column) for name, column in others.items()}
        columns = {name: np.frombuffer(column, column.typecode) for name, column in numbers.items()}
        return cls(texts, columns)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> VideoInfo:
        if (index := self.names.find(name)) < 0:
            raise KeyError(name)
        return self.row(index)

    def row(self, index: int) -> VideoInfo:
        """The row of a number."""
        given: dict[str, Any] = {name: column[index] for name, column in self._texts.items()}
        given["table"] = json.loads(given["table"] or "null")
        given |= {name: _values(name, column[index : index + 1])[0] for name, column in self._numbers.items()}
        return VideoInfo(**given)

    def facts(self) -> dict[str, VideoInfo]:
        """All rows without their tables, ten times faster than one by one."""
        columns = {name: _values(name, column) for name, column in self._numbers.items()}
        columns |= {"path": list(self.names), "reason": list(self._texts["reason"])}
        rows = zip(*columns.values(), strict=True)
        return {row.path: row for row in (VideoInfo(**dict(zip(columns, row, strict=True))) for row in rows)}

    def numbers_of(self, *statuses: Status) -> list[int]:
        """Numbers of the rows of these statuses."""
        codes = [STATUSES.index(status) for status in statuses]
        found: list[int] = np.flatnonzero(np.isin(self._numbers["status"], codes)).tolist()
        return found

    def write(self, file: Path) -> None:
        """Write a file that is either whole or not there, in the form that its ending says."""
        if file.suffix == LINES:
            write_atomically(file, "".join(line_of(self.row(index)) for index in range(len(self))))
            return
        columns = dict(self._numbers)
        for name, texts in self._texts.items():
            columns |= {name: texts.content, f"{name} ends": texts.ends}
        # a copy of each: those of a mapped file cannot be written to
        tensors = {name: torch.tensor(column) for name, column in columns.items()}
        write_bytes(file, save(tensors, {"manifest": str(VERSION)}))


def _values(name: str, column: NDArray[Any]) -> list[Any]:
    """A column of numbers as rows have it."""
    if name == "status":
        return [STATUSES[code] for code in column.tolist()]
    if name == "decoded":
        return [bool(value) for value in column.tolist()]
    return [None if value == _NONE or value != value else value for value in column.tolist()]


def read_manifest(file: Path) -> Manifest:
    """The rows of a file, empty if there is none; of columns nothing is read until it is needed.

    Raises:
        UserError: it is no manifest, or of another version.
    """
    if not file.exists():
        return Manifest.of(())
    other = f"{file}: no manifest, or another lit_video's, with other verdicts; delete it, and run data check again"
    if file.suffix == LINES:
        rows = read_lines(file)
        if not rows and file.stat().st_size:
            raise UserError(other)
        return manifest_of(rows)
    try:
        with safe_open(file, "pt") as columns:
            version = (columns.metadata() or {}).get("manifest")
            if version != str(VERSION):
                raise UserError(other)
            found = {name: columns.get_tensor(name).numpy() for name in columns.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UserError(f"{file}: no manifest ({error}); delete it, and run data check again") from error
    texts = {name: Texts(found[name], found[f"{name} ends"]) for name in _TEXTS}
    return Manifest(texts, {name: found[name] for name in (*_WHOLE, *_REAL)})


def manifest_of(rows: Mapping[str, VideoInfo]) -> Manifest:
    """Rows by name, in any order."""
    return Manifest.of(rows[name] for name in sorted(rows, key=to_bytes))


def line_of(row: VideoInfo) -> str:
    """A row as a line of JSON."""
    return json.dumps({"version": VERSION} | asdict(row)) + "\n"


def read_lines(file: Path) -> dict[str, VideoInfo]:
    """Rows of lines of JSON, later ones first; a line that is not whole, or from another version, is left out."""
    rows: dict[str, VideoInfo] = {}
    fields = asdict(VideoInfo("")).keys()
    if file.exists():
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if isinstance(row, dict) and row.pop("version", None) == VERSION and row.keys() == fields:
                    rows[row["path"]] = VideoInfo(**row)
    return rows
