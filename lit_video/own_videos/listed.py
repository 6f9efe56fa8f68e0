"""The videos that a table lists, with the roles of its columns: path, label, split, person and segment."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.utils.annotations import SEPARATORS, AnnotationRow, refuse_repeats
from lit_video.utils.columns import (
    group_columns,
    quoted,
    read_splits,
    read_times,
    refuse_half_known,
    unused_words,
    words_of,
)
from lit_video.utils.files import is_picture
from lit_video.utils.text import class_name, plural
from lit_video.utils.video_files import Folders, TableForm, further_labels, read_video_rows

FLAGS = {"group": "--group COLUMN", "split": "--split COLUMN"}  # the flags that use a column
LIKE_CODES = {"0", "1", "2"}  # numbers of HMDB51's lists: unused, training, test
FRAMES_COUNTED = 5  # videos whose frames are counted to tell a list's number of frames from its label


class ListedVideo(NamedTuple):
    """A video or a segment that a row lists."""

    file: str  # absolute path
    label: str
    split: str | None
    start: float | None
    end: float | None
    cells: Mapping[str, str]  # by column; without those of path, label, split and segment


class ListedVideos(NamedTuple):
    """Videos of a table, and lines on its columns: what was taken for what, and what is not used."""

    videos: Sequence[ListedVideo]
    notes: Sequence[str]


@dataclass(frozen=True)
class ColumnsAsked:
    """Columns that the user names; ``none`` for none, ``None`` for those that look like it."""

    group: str | None = None
    split: str | None = None


AS_THEY_LOOK = ColumnsAsked()


def listed_videos(
    path: Path, form: TableForm, split: str | None, asked: ColumnsAsked, *, by_folder: bool
) -> ListedVideos:
    """Read a table's videos; every column is used, or named in a line.

    Args:
        path: the table.
        form: its columns of paths and labels.
        split: split that the table's name says, whatever its columns say.
        asked: columns that the user names.
        by_folder: take the name of a video's folder as its class.

    Raises:
        UserError: a cell is wrong, or a column is half-known: one that looks like a split, a person or a segment, with
            an empty cell or an odd word.
    """
    rows = read_video_rows("table", path, form)
    folders = Folders()
    files = [folders.there(os.path.abspath(os.path.join(path.parent, row.text(form.path)))) for row in rows]
    if form.is_list and not by_folder:
        told = _told_apart(path, form, rows, files)
        if told != form:
            form = told
            rows = read_video_rows("table", path, form)

    others = [name for name in rows[0].cells if name and name not in (form.path, form.label)]
    labels = further_labels(rows, form, others)
    if labels:
        fault = f"columns {form.label} and {labels[0]}: several labels per video are not learned"
        raise UserError(f"{path}: {fault}; keep one")

    times = read_times(f"table: {path}", rows, others)
    others = [name for name in others if name not in times.columns]
    splits = None if split else read_splits(f"table: {path}", rows, others, asked.split)
    if splits:
        others = [name for name in others if name not in splits.columns]
    of_rows = others
    groups = _group_columns(rows, others, asked.group)
    others = [name for name in others if name not in groups[:1] and name not in form.headless]

    videos: list[ListedVideo] = []
    segments: dict[str, tuple[str, float | None, float | None]] = {}
    for place, (row, file) in enumerate(zip(times.rows, files, strict=True)):
        label = os.path.basename(os.path.dirname(file))
        if form.label and not by_folder:
            label = class_name(row.text(form.label))
            if any(separator in label for separator in SEPARATORS):
                raise row.error(form.label, f"is {label!r}; several labels per video are not learned, keep one")
        _refuse_other_file(row, form.path, file)
        start, end = row.segment("start", "end") if times.columns else (None, None)
        split_of_row = splits.splits[place] if splits else split
        videos.append(
            ListedVideo(file, label, split_of_row, start, end, {name: row.cells.get(name, "") for name in of_rows})
        )
        segments[row.where] = (file, start, end)
    refuse_repeats(times.rows, form.path, lambda row: segments[row.where])

    roles = [times.words, splits.words if splits else ""]
    if groups:
        values = {row.cells.get(groups[0], "") for row in rows}
        roles.append(f"recorded together: column {quoted(groups[:1])} ({plural(len(values), 'value')})")
    notes = ["; ".join(filter(None, roles))] if any(roles) else []
    if others:
        notes.append(f"columns that are not used: {unused_words(rows, others, FLAGS)}")
    return ListedVideos(videos, notes)


def _group_columns(rows: Sequence[AnnotationRow], names: Sequence[str], asked: str | None) -> list[str]:
    """Return the columns that may say what was recorded together; refuse the first one if it is half-known."""
    if asked == "none":
        return []
    candidates = [name for name in names if name.casefold() == asked.casefold()] if asked else group_columns(names)
    filled = [name for name in candidates if any(row.cells.get(name, "") for row in rows)]
    if filled:
        refuse_half_known(rows, filled[0], "--group none")
    return filled


def _told_apart(path: Path, form: TableForm, rows: Sequence[AnnotationRow], files: Sequence[str]) -> TableForm:
    """Return the form of a list of path and numbers, after the numbers are told apart by the videos themselves.

    Raises:
        UserError: two whole numbers, of which neither is known to be the number of frames, or codes of splits.
    """
    if not form.label:
        return form
    numbers = [row.cells[form.label] for row in rows]
    if "frames" in form.headless and all(number.isdecimal() for number in numbers):
        return _without_frames(path, form, rows, files)

    folders = [os.path.basename(os.path.dirname(file)) for file in files]
    pairs = {*zip(folders, numbers, strict=True)}
    is_crossed = len(pairs) > len({*folders}) > 1 and len(pairs) > len({*numbers}) > 1
    if {*numbers} <= LIKE_CODES and (is_crossed or "split" in words_of(path.stem)):
        fault = (
            f"the numbers {', '.join(sorted({*numbers}))} are not classes but splits (HMDB51: 1 trains, 2 is the test)"
        )
        raise UserError(f"{path}: {fault}; write a table with columns path, label and split")
    return form


def _without_frames(path: Path, form: TableForm, rows: Sequence[AnnotationRow], files: Sequence[str]) -> TableForm:
    """Return which of two numbers is the label: the other is that of the videos' frames, as some of them show."""
    from lit_video.video.decoding import DecodeError, frame_table  # here, because importing torch takes seconds

    step = max(1, len(files) // FRAMES_COUNTED)
    second_is_frames = third_is_frames = 0
    for row, file in [*zip(rows, files, strict=True)][::step]:
        try:
            count = frame_table(Path(file)).count
        except DecodeError:
            continue
        second_is_frames += _nearly(int(row.cells["frames"]), count)
        third_is_frames += _nearly(int(row.cells["label"]), count)

    if second_is_frames > third_is_frames:
        return form
    if third_is_frames > second_is_frames:
        return form._replace(headless=("path", "label", "frames"))
    fault = "two whole numbers, of which neither is the number of the videos' frames"
    raise UserError(f"{rows[0].where}: {fault}; name the columns in a first line, such as path,frames,label")


def _nearly(number: int, count: int) -> bool:
    """Return whether a number may be a count of frames, as another program counts them."""
    return abs(number - count) <= max(2, count // 50)


def _refuse_other_file(row: AnnotationRow, column: str, file: str) -> None:
    """Refuse a row that lists no video file."""
    if os.path.isdir(file) or is_picture(file):
        raise UserError(f"{file}: is a picture or a folder of frames; see docs/adding.md")
    if "\\" in file and not os.path.exists(file):
        raise row.error(column, f"is {row.text(column)}, which does not exist; write / for the backslashes")
