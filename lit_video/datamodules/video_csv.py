"""Your own videos, listed by tables of path and label."""

import math
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import Any

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.annotations import Row, read_table, refuse_repeats
from lit_video.datamodules.base import SPLITS, Split
from lit_video.datamodules.folder import frame_rate
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.video.sampling import positive

Values = list[str | int]


class VideoCSV(AnnotatedVideos):
    """Videos and segments of videos as tables list them: ``path label [start end]``.

    Columns are separated by commas, tabs, semicolons or spaces; a first line that holds the names of the path and the
    label column is a header, and without one the columns are path, label, start, end. Start and end are seconds from
    the video's first frame, or ``HH:MM:SS``; where they are empty or absent the whole video is meant. A path is
    relative to ``root`` and may be a folder of frames if ``fps`` says how fast they were taken. A label is a name or a
    number; classes are the labels of the training table, sorted, numbers by size.

    Each split has a table of its own, or one table holds all, divided by a column::

        train: labels.csv
        split_column: repetition
        train_values: [1]
        val_values: [2]

    Args:
        train: table of the training videos, from ``root``.
        val: likewise; ``val.csv`` if not given, or the training table where ``split_column`` divides it.
        test: likewise; the validation videos if neither this nor ``test_values`` is given.
        path_column: name of the column that holds the path.
        label_column: name of the column that holds the label.
        split_column: name of the column that divides a table, by the values that follow.
        train_values: values of the training videos in this column.
        val_values: values of the validation videos; ``[]`` where no video validates.
        test_values: values of the test videos.
        classes: names of the classes by number; without them the labels of the training table are these. A label
            is one of them, or else its number.
        fps: frames per second of videos that are folders of frames.
        source: where the videos come from, named when ``root`` is absent.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    def __init__(
        self,
        train: str = "train.csv",
        val: str | None = None,
        test: str | None = None,
        path_column: str = "path",
        label_column: str = "label",
        split_column: str | None = None,
        train_values: Values | None = None,
        val_values: Values | None = None,
        test_values: Values | None = None,
        classes: list[str] | None = None,
        fps: float | None = None,
        source: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        positive(fps=fps)
        if classes is not None and len(set(classes)) != max(len(classes), 2):
            raise ValueError(f"classes is {classes}, expected two or more names, no two the same")
        values: dict[Split, Values | None] = {"train": train_values, "val": val_values, "test": test_values}
        for split, given in values.items():
            if given and split_column is None:
                raise ValueError(f"{split}_values is {given}, but split_column is not set")
            if split_column is not None and not given and (split == "train" or (split == "val" and given is None)):
                raise ValueError(f"{split}_values is empty, expected values of the column {split_column}")
        val = val or (train if split_column else "val.csv")
        self.tables: dict[Split, Path] = {
            "train": self.root / train,
            "val": self.root / val,
            "test": self.root / (test or val),
        }
        absent = {"val"} if val_values == [] else set()
        absent |= set() if test or test_values else {"test"}
        self.splits = tuple(split for split in SPLITS if split not in absent)
        self.values = {split: [str(value) for value in given or ()] for split, given in values.items()}
        self.columns = (path_column, label_column)
        self.split_column = split_column
        self.given_classes = classes
        self._given = frozenset(classes or ())
        self.fps = fps
        self.source = source
        self._read: dict[Path, list[Row]] = {}

    @cached_property
    def class_names(self) -> list[str]:
        """Names of the classes, or their numbers as text."""
        if self.given_classes is not None:
            return self.given_classes
        names = {self._label(row) for row in self._rows("train")}
        if len(names) == 1:
            raise UserError(f"data.train: {self.tables['train']} holds one class ({names.pop()}); add another")
        numeric = {name for name in names if name.isdecimal()}
        if numeric and numeric != names:
            both = f"numbers ({min(numeric)}) and names ({min(names - numeric)})"
            raise UserError(f"data.train: {self.tables['train']} has {both} as labels; use either, or set data.classes")
        return sorted(names, key=lambda name: (len(name), name)) if numeric else sorted(names)

    def annotated(self, split: Split) -> Records:
        """Videos that a split's rows list."""
        path, root = self.columns[0], str(self.root)
        rows = self._rows(split)
        segments = {row.place: (row.inside(path, root), *row.segment("start", "end")) for row in rows}
        refuse_repeats(rows, lambda row: segments[row.place], path)
        labels = [self._class(row) for row in rows]
        self._read.clear()  # rows take much more memory than records
        paths = [file for file, *_ in segments.values()]
        times = [(start, end, frame_rate(file, self.fps)) for file, start, end in segments.values()]
        return Records(paths, labels, times)

    def check(self) -> None:
        """Besides what the base checks: no video is both trained and tested on, and every class is tested."""
        super().check()
        for split in self.splits[1:]:
            records = self.records(split)
            both = _trained_too(self.records("train"), records)
            if both:
                what = f"{both[0]} is a training video as well, all or a part of it ({len(both)} are)"
                raise UserError(f"data.{split}: {what}; divide them")
            absent = sorted({*range(len(self.class_names))} - {*records.labels.tolist()})
            if absent:
                classes = f"{len(absent)} of {len(self.class_names)} classes ({self.class_names[absent[0]]} first)"
                part = f" ({self.split_column} {', '.join(self.values[split])})" if self.values[split] else ""
                print_once(f"{self.tables[split]}{part}: {classes} have no {split} video")

    def _class(self, row: Row) -> int:
        """Number of a row's class, which may be given by it."""
        text = self._label(row)
        if self.given_classes and text not in self._given and text.isdecimal():
            return row.whole(self.columns[1], below=len(self.given_classes))
        return row.member(self.columns[1], self.numbers, text)

    def _label(self, row: Row) -> str:
        text = row.text(self.columns[1])
        if "|" in text and text not in self._given:
            raise row.error(self.columns[1], f"is {text!r}; several labels per video are not supported, keep one")
        return text

    def _rows(self, split: Split) -> list[Row]:
        key, table, values = f"data.{split}", self.tables[split], self.values[split]
        if self.source and not self.root.is_dir():
            raise UserError(f"data.root: {self.root} does not exist; give the folder that holds {self.source}")
        if table not in self._read:
            headless = None if self.split_column else (*self.columns, "start", "end")
            required = self.columns if self.split_column is None else (*self.columns, self.split_column)
            self._read[table] = read_table(key, table, required, headless)
        rows = self._read[table]
        if self.split_column is None or not values:
            return rows
        present = sorted({row.cells[self.split_column] for row in rows})
        if absent := [value for value in values if value not in present]:
            column = f"{table} has no {self.split_column} {absent[0]!r}; it has {', '.join(present)[:200]}"
            raise UserError(f"{key}_values: {column}")
        return [row for row in rows if row.cells[self.split_column] in values]


def _trained_too(train: Records, tested: Records) -> list[str]:
    """Paths of the tested videos of which some time is trained on."""
    parts = defaultdict(list)
    for path, start, end in train.identities():
        parts[path].append((start or 0.0, math.inf if end is None else end))
    return [
        path
        for path, start, end in tested.identities()
        if any((start or 0.0) < stop and (end is None or begin < end) for begin, stop in parts.get(path, ()))
    ]
