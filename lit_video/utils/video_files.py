"""Videos that a user names: files, folders in which a name lacks its ending, and tables of paths and labels."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.utils.annotations import AnnotationRow, first_rows, read_annotations
from lit_video.utils.columns import words_of
from lit_video.utils.files import COMMON, TABLES, entries_of, files_below, is_picture, is_video, user_path
from lit_video.utils.text import composed

_ENDINGS = sorted([*COMMON, *map(str.upper, COMMON)])
# names of columns in their words, most certain first; a column of the second kind holds paths only if its cells do
PATHS = ("path", "file", "file name", "file path", "video path", "video file", "video name", "clip path")
PERHAPS_PATHS = ("video", "name", "clip", "clip name", "clip id", "id", "video id", "segment id", "youtube id", "url")
LABELS = ("label", "class", "category", "action", "activity", "target", "gesture", "label name", "class name")
_LIKE_LABELS = {*LABELS, "label id", "class id", "labels", "classes", "category id", "action id", "category name"}
ROWS_READ = 100  # rows whose cells say whether a column holds paths


class Folders:
    """Cached folder listings: a check per file takes minutes for 240,000 videos on a network disk."""

    def __init__(self) -> None:
        self.names = cache(_names)

    def contains(self, path: str | Path) -> bool:
        """Return whether a video or a folder of frames exists."""
        folder, name = os.path.split(path)
        return name in self.names(folder)

    def there(self, path: str) -> str:
        """Return a video's path with the extension found on disk, which downloads and ``data prepare`` may change."""
        folder, name = os.path.split(path)
        names = self.names(folder)
        if name in names:
            return path

        stem = os.path.splitext(name)[0] if is_video(name) else name
        candidates = [name, *(stem + ending for ending in _ENDINGS)]
        for candidate in candidates:
            if candidate in names:
                return os.path.join(folder, candidate)

        if not name.isascii():  # a Mac's archives spell accents otherwise
            by_spelling = {composed(listed): listed for listed in names}
            for candidate in candidates:
                if composed(candidate) in by_spelling:
                    return os.path.join(folder, by_spelling[composed(candidate)])
        return os.path.join(folder, name)


def _names(folder: str | Path) -> set[str]:
    """Return the names of all files and folders in a folder; empty if it is absent."""
    return {entry.name for entry in entries_of(folder or ".", hidden=True)}


def videos_at(path: Path, fps: float | None = None) -> list[Path]:
    """Return a file, or the videos below a folder; with a frame rate ``fps``, folders of pictures count as videos.

    Raises:
        UserError: there is no video, but perhaps a picture.
    """
    if not path.is_dir():
        if is_picture(path):
            raise UserError(f"{path}: is a picture, not a video; give the folder of its frames, and --fps N")
        return [path]

    inside = sorted(set(_below(path, fps)))
    if not inside and any(_below(path, fps=1.0)):
        raise UserError(f"{path}: holds pictures but no video; give --fps N, the frame rate of the pictures")
    if not inside:
        raise UserError(f"{path}: holds no video ({', '.join(COMMON)})")
    return inside


def is_table(path: Path) -> bool:
    """Return whether a path is of a table of videos."""
    return path.suffix.lower() in TABLES and path.is_file()


def refuse_no_video(places: Iterable[str | Path], fps: float | None = None) -> None:
    """Refuse a place without a video, before torch is imported, which takes seconds; list a folder to its first."""
    for path in map(user_path, places):
        is_given = is_table(path) or any(_below(path, fps))
        if not is_given:
            videos_at(path, fps)


def _below(folder: Path, fps: float | None) -> Iterator[Path]:
    for path in files_below(folder):
        if not path.is_file():
            continue
        if is_video(path):
            yield path
        elif fps and is_picture(path):
            yield path.parent


class TableForm(NamedTuple):
    """Columns of a table.

    Attributes:
        path: column of the videos' paths.
        label: column of the labels; ``None`` if a video's label is its folder, or unknown.
        headless: columns by which the table is read if it has no header.
        is_list: whether the table has no header.
    """

    path: str
    label: str | None
    headless: tuple[str, ...]
    is_list: bool = False


def table_form(path: Path) -> TableForm | None:
    """Return a table's form; ``None`` without a column of paths. Lists of videos need no header.

    Such a list has the columns path and label, or path, number of frames and label (MMAction2), or path alone.
    """
    header, *rows = first_rows(path, ROWS_READ) or [[""]]
    listing = Listing(path.parent)
    if not listing.has(header[0]):
        # columns whose names may say so: the one with most cells of videos is taken, by name if there are none
        named = [name for spelling in PATHS for name in header if _spelling(name) == spelling]
        perhaps = [name for spelling in PERHAPS_PATHS for name in header if _spelling(name) == spelling]
        number_of: dict[str, int] = {}  # rows in which a cell names a video
        for name in (*named, *perhaps):
            place = header.index(name)
            number_of[name] = sum(len(row) > place and listing.has(row[place]) for row in rows)

        path_column = max(number_of, key=number_of.__getitem__, default=None)  # the first of equals
        if path_column is None or not number_of[path_column]:
            path_column = next(iter(named), None)
        if path_column is None:
            return None
        labels = (name for name in header if name != path_column and _spelling(name) in LABELS)
        label_column = next(labels, None)
        if label_column is None:
            return TableForm(path_column, None, (path_column,))
        return TableForm(path_column, label_column, (path_column, label_column))

    if len(header) == 3 and header[1].isdecimal():
        return TableForm("path", "label", ("path", "frames", "label"), is_list=True)
    if len(header) == 2:
        return TableForm("path", "label", ("path", "label"), is_list=True)
    if len(header) == 1:
        return TableForm("path", None, ("path",), is_list=True)
    return None


class Listing:
    """Answers whether cells of a table name videos, without or with their endings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folders = Folders()

    def has(self, cell: str) -> bool:
        """Return whether a cell is a video's name, or the name of a file in the folder without its ending."""
        return is_video(cell) or (bool(cell) and is_video(self.folders.there(os.path.abspath(self.folder / cell))))


def _spelling(name: str) -> str:
    """Return a name's words with blanks between them."""
    return " ".join(words_of(name))


def further_labels(rows: Sequence[AnnotationRow], form: TableForm, names: Iterable[str]) -> list[str]:
    """Return other columns of labels, without those that only number or name the same classes."""
    further: list[str] = []
    for name in names:
        words = " ".join(word for word in words_of(name) if not word.isdecimal())
        if words not in _LIKE_LABELS or not form.label:
            continue
        # one to one: each label has one value of the column, and each value one label
        pairs = {(row.cells[form.label], row.cells.get(name, "")) for row in rows}
        numbers_them = len(pairs) == len({label for label, _ in pairs}) == len({other for _, other in pairs})
        if not numbers_them or len(rows) == 1:
            further.append(name)
    return further


def read_video_rows(key: str, path: Path, form: TableForm) -> list[AnnotationRow]:
    """Read the rows of a table of videos."""
    columns = tuple(column for column in (form.path, form.label) if column)
    return read_annotations(key, path, columns, headless=form.headless, files=form.path)
