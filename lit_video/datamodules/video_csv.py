"""Your own videos, listed in tables of path and label."""

from __future__ import annotations  # a signature then shows names of types, such as Count

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lit_video.datamodules.annotated import AnnotatedVideos
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.utils.annotations import (
    SEPARATORS,
    AnnotationRow,
    multi_hot,
    read_annotations,
    refuse_repeats,
    spelled,
)
from lit_video.utils.arguments import Positive, check_arguments
from lit_video.utils.columns import read_times, unused_words
from lit_video.utils.files import is_video, refuse_no_root, user_path
from lit_video.utils.splits import Split
from lit_video.utils.text import case_twins, class_name, natural, plural
from lit_video.video.loading import VideoNumbers

Values = list[str | int]
_TIMES = ("start", "end")
_FLAGS = {"group": "data.draw_column", "split": "data.split_column"}  # settings that use a column


class Segment(NamedTuple):
    """The file that a row lists, with start and end of the listed part in seconds."""

    file: str
    start: float | None
    end: float | None


class VideoCSV(AnnotatedVideos):
    """Videos and video segments listed in tables with columns path, label and, optionally, start and end.

    Columns are separated by commas, tabs, semicolons or spaces. A first line that names the path and label
    columns, in upper or lower case, is a header. A table without a header has these two, or those in ``columns``.
    Start and end are seconds from the video's start, or ``HH:MM:SS``; without them the whole video is used. They may
    be spelled otherwise (``clipStart``, ``t_end``, ``start`` and ``duration``), or be in milliseconds (``start_ms``);
    columns that count frames are refused. Other columns are ignored and printed. A path is relative to ``root``, may
    lack the file extension, and may be a folder of frames (``fps``). Classes are the labels of the training table,
    sorted.

    Each split has its own table, or one table holds all splits and a column tells them apart::

        train: labels.csv
        split_column: repetition
        train_values: [1]
        val_values: [2]

    Args:
        train: table of the training videos, relative to ``root``.
        val: table of the validation videos; ``val.csv`` if not given, or the training table with ``split_column``.
        test: table of the test videos, by default ``val``'s. Without it and ``test_values`` the validation videos are
            tested, and must not select a checkpoint.
        path_column: name of the column that holds the path.
        label_column: name of the column that holds the label.
        columns: names of all columns of a table without a header, such as MMAction2's ``[path, frames, label]``.
        split_column: name of the column that divides a table into splits, by the values below.
        train_values: values of the training videos in this column.
        val_values: values of the validation videos; ``[]`` for no validation.
        test_values: values of the test videos.
        label_separator: separator of several labels of a video, such as ``|``; ``None`` if each video has one label,
            without such marks; empty if each has one label, of any characters.
        fps: frames per second of videos that are folders of frames.
        draw_column: name of the column that holds the person, the recording or another source. Test videos that
            share it are one draw, so intervals count persons in place of videos.
        reverse_column: name of the column that holds the class of the video played backwards, such as ``close`` beside
            ``open``; with ``pairing``, training shows each video in both directions.
        groups: classes by group name: ``test/group/NAME`` is the top-1 over a group's test videos.
        divides_videos: allow segments of videos that train in another split; its accuracy is then one of known
            recordings.
        source: origin of the videos, for the error if ``root`` does not exist.
        **kwargs: see :class:`AnnotatedVideos`.
    """

    compares_contents = True

    def __init__(
        self,
        train: str = "train.csv",
        val: str | None = None,
        test: str | None = None,
        *,
        # columns
        path_column: str = "path",
        label_column: str = "label",
        columns: list[str] | None = None,
        # one table for all splits
        split_column: str | None = None,
        train_values: Values | None = None,
        val_values: Values | None = None,
        test_values: Values | None = None,
        # labels and videos
        label_separator: str | None = None,
        fps: Positive | None = None,
        draw_column: str | None = None,
        reverse_column: str | None = None,
        groups: dict[str, list[str]] | None = None,
        divides_videos: bool = False,
        source: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(locals())
        super().__init__(**kwargs)

        # the splits: their tables, and the values of a column that tells them apart
        self.split_column = split_column
        self.values: dict[Split, list[str]] = {
            "train": self._split_values("train", train_values),
            "val": self._split_values("val", val_values),
            "test": self._split_values("test", test_values),
        }
        val = val or (train if split_column else "val.csv")
        self.tables = {
            "train": self.root / user_path(train),
            "val": self.root / user_path(val),
            "test": self.root / user_path(test or val),
        }
        self.splits = ("train",)
        if val_values != []:
            self.splits += ("val",)
        if test or test_values:
            self.splits += ("test",)

        # the columns
        self.columns = (path_column, label_column)
        self.draw_column = draw_column
        self.draw_kind = draw_column or self.draw_kind
        self.reverse_column = reverse_column
        named_columns = dict.fromkeys((*self.columns, split_column, draw_column, reverse_column))
        self.required = tuple(column for column in named_columns if column)
        self.given_columns = spelled(columns or (), (*self.required, *_TIMES))
        distinct = {*self.given_columns}
        if columns is not None and (len(distinct) < len(columns) or {*self.required} - distinct):
            raise ValueError(f"columns is {columns}, expected {', '.join(self.required)} among them, each once")

        # the labels, and the videos
        self.label_separator = label_separator
        self.several_labels = bool(label_separator)
        if groups and (label_separator or "others" in groups or "/" in "".join(groups)):
            expected = "expected names other than others, without a slash, and one label per video"
            raise ValueError(f"groups is {[*groups]}, {expected}")
        if reverse_column and label_separator:
            raise ValueError("reverse_column is for one label per video: leave out label_separator")
        self.groups = groups or {}
        self.divides_videos = divides_videos
        self.fps = fps
        self.source = source
        self._read: dict[Path, list[AnnotationRow]] = {}

    def _split_values(self, split: Split, values: Values | None) -> list[str]:
        """Return a split's values of ``split_column`` as text.

        Raises:
            ValueError: there are values but no ``split_column``, or the other way round.
        """
        if values and self.split_column is None:
            raise ValueError(f"{split}_values is {values}, but split_column is not set")

        may_be_empty = split == "test" or (split == "val" and values is not None)
        if self.split_column is not None and not values and not may_be_empty:
            raise ValueError(f"{split}_values is empty, expected values of the column {self.split_column}")
        return [str(value) for value in values or ()]

    @cached_property
    def class_names(self) -> list[str]:
        """Names of the classes, or their numbers as text."""
        table = self.tables["train"]
        names: set[str] = set()
        for row in self._rows("train"):
            names.update(self._labels(row))
        if len(names) == 1:
            raise UserError(f"data.train: {table} holds one class ({names.pop()}); add another")

        twins = case_twins(sorted(names))
        if twins:
            print_once(f"data.train: {twins}")
        return sorted(names, key=natural)

    @property
    def class_groups(self) -> dict[str, list[int]]:
        """Class numbers of each group, and of ``others``."""
        grouped = set(chain.from_iterable(self.groups.values()))
        unknown = sorted(grouped - {*self.numbers})
        if unknown:
            raise UserError(f"data.groups: {unknown[0]!r} is no class of {self.tables['train']}; correct it")

        groups = dict(self.groups)
        others = [name for name in self.class_names if name not in grouped]
        if grouped and others:
            groups["others"] = others

        numbers: dict[str, list[int]] = {}
        for group, names in groups.items():
            numbers[f"group/{group}"] = [self.numbers[name] for name in names]
        return numbers

    def annotated(self, split: Split) -> Records:
        """Return the videos that a split's rows list."""
        rows = self._rows(split)
        segments: dict[str, Segment] = {}  # by the row's place in the table
        times: list[tuple[float | None, float | None, float | None]] = []
        for row in rows:
            segment = self._segment(row)
            segments[row.where] = segment
            fps = None if is_video(segment.file) else self.fps
            times.append((segment.start, segment.end, fps))
        refuse_repeats(rows, self.columns[0], lambda row: segments[row.where])

        files = [segments[row.where].file for row in rows]
        labels: list[int | tuple[int, ...]] = []
        for row in rows:
            numbers = [row.member(self.columns[1], self.numbers, label) for label in self._labels(row)]
            labels.append(multi_hot(numbers, len(self.class_names)) if self.several_labels else numbers[0])
        self._read.clear()  # rows take much more memory than records
        return Records(files, labels, times)

    def draw_names(self, split: Split) -> Sequence[str]:
        """Return the value of every video's ``draw_column``; without one, its path."""
        if not self.draw_column:
            return super().draw_names(split)

        records = self.records(split)
        annotated_split = split if split in self.splits else "val"
        names: dict[tuple[str, float | None, float | None], str] = {}
        for row in self._rows(annotated_split):
            names[self._segment(row)] = row.text(self.draw_column)
        self._read.clear()
        return [names[identity] for identity in records.identities()]

    def with_reverses(self, records: Records) -> Records:
        """Return training videos, and then each played backwards, with the class of that direction."""
        if not self.reverse_column:
            raise UserError("data.pairing: name the column with the class of each video's reverse, data.reverse_column")

        class_of: dict[tuple[str, float | None, float | None], int] = {}
        reverse_of: dict[str, str] = {}  # by the name of a class
        for row in self._rows("train"):
            forward = class_name(row.text(self.columns[1]))
            backward = class_name(row.text(self.reverse_column))
            class_of[self._segment(row)] = row.member(self.reverse_column, self.numbers, backward)
            for name, reverse in ((forward, backward), (backward, forward)):
                before = reverse_of.setdefault(name, reverse)
                if before != reverse:
                    fault = f"says that {name!r} backwards is {reverse!r}, another row {before!r}; name one"
                    raise row.error(self.reverse_column, fault)
        self._read.clear()
        return records.played_backwards([class_of[identity] for identity in records.identities()])

    def reverses(self, records: Records) -> VideoNumbers:
        """Return for each training video the number of its reverse: ``(videos,)``."""
        films = len(records) // 2
        return np.roll(np.arange(len(records)), films)

    def _segment(self, row: AnnotationRow) -> Segment:
        """Return the file that a row lists, as found on disk, with start and end of its segment."""
        file = self.folders.there(row.inside(self.columns[0], str(self.root)))
        start, end = row.segment(*_TIMES)
        return Segment(file, start, end)

    def check(self) -> None:
        """Also check that no training video is used for validation or test; parts of one are counted if asked for."""
        super().check()
        _ = self.class_groups  # refuses unknown classes
        for split in self.splits[1:]:
            shared = self.records(split).shared(self.records("train"))
            if shared:
                fault = f"{shared[0]} or a part of it is a training video too ({len(shared)} such videos)"
                raise UserError(f"data.{split}: {fault}; make the splits disjoint")

            trained = {*self.records("train").paths}
            parts = [path for path in self.records(split).paths if path in trained]
            if not parts:
                continue
            parts_in_words = f"{plural(len(parts), 'segment')} of {split} are parts of videos of which others train"
            fault = f"data.{split}: {parts_in_words} ({parts[0]}): the accuracy is one of known recordings"
            if not self.divides_videos:
                raise UserError(f"{fault}; keep each video in one split, or set data.divides_videos: true")
            print_once(fault)

    def _labels(self, row: AnnotationRow) -> list[str]:
        """Return the labels of a row."""
        _, label_column = self.columns
        text = class_name(row.text(label_column))
        if self.label_separator:
            parts = [part.strip() for part in text.split(self.label_separator)]
            labels = [part for part in parts if part]
            if not labels:
                raise row.error(label_column, f"is {text!r}, expected labels; fill it in, or delete the row")
            return labels

        if self.label_separator == "":  # names as they are
            return [text]
        for mark in SEPARATORS:
            if mark in text:
                raise row.error(label_column, f"is {text!r}; keep one label, or set data.label_separator: {mark!r}")
        return [text]

    def _rows(self, split: Split) -> list[AnnotationRow]:
        """Return the rows of a split; refuse values that its table does not have."""
        key = f"data.{split}"
        table = self.tables[split]
        if self.source:
            refuse_no_root(self.root, "VideoCSV", self.source)
        if table not in self._read:
            self._read[table] = self._table(key, table)
        rows = self._read[table]

        values = self.values[split]
        if self.split_column is None or not values:
            return rows
        present = {row.cells[self.split_column] for row in rows}
        for value in values:
            if value not in present:
                there = ", ".join(sorted(present))[:200]
                raise UserError(f"{key}_values: {table} has no {self.split_column} {value!r}; it has {there}")
        return [row for row in rows if row.cells[self.split_column] in values]

    def _table(self, key: str, table: Path) -> list[AnnotationRow]:
        """Read a table's rows; a table without a header has the columns in ``columns``, or path and label."""
        headless: Sequence[str] | None = None
        if self.given_columns:
            headless = self.given_columns
        elif not self.split_column:
            headless = self.columns
        rows = read_annotations(key, table, self.required, headless=headless, optional=_TIMES, files=self.columns[0])

        named = {*spelled(self.given_columns, rows[0].cells)} - {*_TIMES}  # columns that a setting names
        others = [name for name in rows[0].cells if name and name not in {*self.required, *named}]
        times = read_times(f"{key}: {table}", rows, others)
        unused = [name for name in others if name not in times.columns]
        if unused:
            print_once(f"{table}: columns that are not used: {unused_words(rows, unused, _FLAGS)}")
        return [*times.rows]
