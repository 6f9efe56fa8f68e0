"""The videos of a folder and their classes: class folders, with or without splits, or a table."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.utils.annotations import SEPARATORS, AnnotationRow, like_times, read_annotations
from lit_video.utils.files import PICTURES, TABLES, files_below, is_picture, is_video, is_visible
from lit_video.utils.folders import Folders
from lit_video.utils.splits import SPLITS
from lit_video.utils.text import composed, counted, natural

# split by the name of a folder, a table or a cell that means it
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}
# names of columns, of which a table's first is read; the split may also be a column in which every cell names a split
PATH = ("path", "video", "file", "filename", "video_path", "name")
LABEL = ("label", "class", "category", "action")
SPLIT_COLUMNS = ("split", "subset", "set")
LIKE_LABELS = re.compile(r"(?:label|class|category|action)(?:_?\d+)?", re.I)
LOOKED_AT = 10_000  # most files that are counted to say what is in a folder without class folders
EXPECTED = "expected DIR/CLASS/VIDEO.mp4, DIR/train/CLASS/VIDEO.mp4 (and test/, val/), "
EXPECTED += "or DIR/labels.csv with columns path and label"


@dataclass(frozen=True)
class OwnVideo:
    """A video of a class."""

    path: str  # relative to the root
    label: str  # name of its class
    split: str | None = None  # split or fold; None before the videos are divided
    _: KW_ONLY
    columns: Mapping[str, str] = field(default_factory=dict)  # cells of its row in the table, by column


@dataclass(frozen=True)
class OwnVideos:
    """The user's videos, and how they were found.

    Attributes:
        root: folder to which their paths are relative.
        where: how they were found, in words.
        unused: number of other files by kind.
    """

    videos: Sequence[OwnVideo]
    where: str
    root: Path
    _: KW_ONLY
    unused: Mapping[str, int] = field(default_factory=dict)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, sorted."""
        return sorted(set(labels_of(self.videos)), key=natural)


def labels_of(videos: Sequence[OwnVideo]) -> list[str]:
    """Return each video's class."""
    return [video.label for video in videos]


def splits_of(videos: Sequence[OwnVideo]) -> list[str | None]:
    """Return each video's split or fold."""
    return [video.split for video in videos]


def rare_labels(labels: Iterable[str], least: int) -> dict[str, int]:
    """Return the counts of labels that occur fewer than ``least`` times, sorted by label."""
    return {label: count for label, count in sorted(Counter(labels).items()) if count < least}


def find_own_videos(place: Path) -> OwnVideos:
    """Find videos in class folders, with or without splits, or by a table."""
    if place.is_file() and place.suffix.lower() in TABLES:
        own = _of_tables({place: None})
    elif place.is_dir():
        tables = _tables_in(place)
        own = _tables(place, tables) or _class_folders(place, tables)
    else:
        raise UserError(f"{place}: no such folder, and no table ({', '.join(TABLES)})")

    expected = EXPECTED.replace("DIR", str(place))
    if not own.videos:
        raise UserError(f"{place}: {_what_is_there(place)}; {expected}")
    if len(own.class_names) < 2:
        fault = f"holds one class ({own.class_names[0]}); a classifier needs two or more"
        raise UserError(f"{place}: {fault}; looked at {own.where}; {expected}")
    _refuse_links(own)
    return own


def _refuse_links(own: OwnVideos) -> None:
    """Refuse a file that is there twice, by a link or another spelling: it could be in both training and test."""
    path_of: dict[str, str] = {}
    for video in own.videos:
        file = os.path.realpath(own.root / video.path)
        if file in path_of:
            raise UserError(
                f"{own.root / video.path}: is the same file as {own.root / path_of[file]}; keep one of them"
            )
        path_of[file] = video.path


def _ending(path: Path) -> str:
    """Return the ending of a file's name in lower case, or words if there is none."""
    return path.suffix.lower() or "without ending"


def _unused(root: Path, used: Collection[Path]) -> Counter[str]:
    """Count the unused files below a folder by ending; count files outside of class folders by their folder too."""
    class_folders = {root, *(path.parent for path in used)}
    counts: Counter[str] = Counter()
    for path in {*files_below(root)} - {*used}:
        kind = _ending(path)
        if path.parent not in class_folders:
            kind += f" in {path.relative_to(root).parts[0]}/"
        counts[kind] += 1
    return counts


def _what_is_there(root: Path) -> str:
    """Describe the files of a folder in which no videos by class were found."""
    files = [path for path in islice(files_below(root), LOOKED_AT) if path.is_file()]
    endings = Counter(_ending(path) for path in files)
    content = ", ".join(counted(dict(endings.most_common(3)))) or "no file"

    fault = "no video"
    if PICTURES & endings.keys():
        fault = "no video; for pictures and folders of frames see docs/adding.md"
    video = next((path for path in files if is_video(path)), None)
    if video:
        fault = f"{video.relative_to(root)} lies in no class folder there"
    tables = [_misses(path) for path in _tables_in(root)]
    return "; ".join([f"holds {content}: {fault}", *tables])


def _split_folders(root: Path) -> Mapping[str, Path]:
    """Return the split folders of ``DIR/SPLIT/CLASS/VIDEO``, named in upper or lower case.

    A class may have the name of a split. So a folder counts as a split only if it holds class folders, and, if there is
    no ``train`` folder, only if no class folders are beside it.
    """
    named: dict[str, Path] = {}
    for path in sorted(path for path in root.glob("*") if is_visible(path.name)):
        name = path.name.lower()
        if name in SPLIT_NAMES and any(_videos(path, 2)):
            named.setdefault(name, path)

    folders: dict[str, Path] = {}
    for name, split in SPLIT_NAMES.items():
        if name in named:
            folders.setdefault(split, named[name])

    if "train" not in folders and any(_videos(root, 2)):
        return {}
    return folders


def _videos(root: Path, depth: int) -> Iterator[Path]:
    """Yield the videos at a depth below a folder, sorted, without hidden ones."""
    pattern = "/".join(["*"] * depth)
    for path in sorted(root.glob(pattern)):
        names = path.relative_to(root).parts
        if is_video(path) and all(is_visible(name) for name in names) and path.is_file():
            yield path


def _class_folders(root: Path, tables: Sequence[Path]) -> OwnVideos:
    """Return the videos of ``DIR/SPLIT/CLASS/VIDEO`` if there are split folders, else of ``DIR/CLASS/VIDEO``."""
    splits = _split_folders(root)
    folders: list[tuple[str | None, Path]] = [(None, root)]
    if splits:
        folders = [*splits.items()]

    videos: list[OwnVideo] = []
    used: set[Path] = set()
    for split, folder in folders:
        for path in _videos(folder, 2):
            videos.append(OwnVideo(str(path.relative_to(root)), composed(path.parent.name), split))
            used.add(path)
    if splits:
        where = f"class folders in {_names(splits.values())}"
        return OwnVideos(videos, where, root, unused=_unused(root, used))

    where = "; not used: ".join(["class folders", *(_misses(path) for path in tables)])
    like_splits = sorted(label for label in {*labels_of(videos)} if _split_named(label))
    if like_splits:
        where += f"; {', '.join(like_splits)} read as a class: no class folders in it"
    return OwnVideos(videos, where, root, unused=_unused(root, used.union(tables)))


def _names(paths: Iterable[Path]) -> str:
    """Return the names of files, separated by commas."""
    return ", ".join(path.name for path in paths)


def _split_named(name: str) -> str | None:
    """Return the split that a name means; ``None`` if it means none."""
    return SPLIT_NAMES.get(name.lower())


def _split_of_table(path: Path) -> str | None:
    """Return the split in a table's name, such as ``train.csv``, ``testlist01.txt`` or ``val_videos.txt``."""
    name = re.sub(r"[_\-. ]*(?:list|split|videos|files|set)?[_\-. ]*\d*$", "", path.stem.lower())
    return _split_named(name)


def _tables_in(root: Path) -> list[Path]:
    """Return the tables in a folder; .txt files count only if they list videos."""
    tables: list[Path] = []
    for path in sorted(root.iterdir()):
        ending = path.suffix.lower()
        if ending in TABLES and path.is_file() and (ending != ".txt" or _form(path)):
            tables.append(path)
    return tables


def _tables(root: Path, tables: Sequence[Path]) -> OwnVideos | None:
    """Return the videos of a table, or of a table per split; ``None`` if there is no table, or split folders exist."""
    if _split_folders(root):
        return None

    split_of: dict[Path, str | None] = {}
    for split in SPLITS:
        first = next((path for path in tables if _split_of_table(path) == split), None)
        if first:
            split_of[first] = split
    if "train" not in split_of.values():
        split_of = {path: None for path in tables if _form(path)}
        if len(split_of) > 1:
            fault = "could all be the table of the videos; give one of them, or keep one there"
            raise UserError(f"{root}: {_names(split_of)} {fault}")
    if not split_of:
        return None

    own = _of_tables(split_of)
    used = {own.root / video.path for video in own.videos}
    used.update(path.absolute() for path in split_of)
    return replace(own, unused=_unused(root.absolute(), used))


def _header(path: Path) -> list[str]:
    """Return the cells of a table's first line."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(10_000).strip()
    separator = next((mark for mark in "\t,;" if mark in line), None)
    return [cell.strip().strip('"') for cell in line.split(separator)]


def _first(names: Iterable[str], accepted: Collection[str]) -> str | None:
    """Return the first accepted name; upper and lower case count as the same."""
    return next((name for name in names if name.lower() in accepted), None)


class _Form(NamedTuple):
    """Columns of a table.

    Attributes:
        path: column of the videos' paths.
        label: column of the labels; ``None`` if a video's label is its folder.
        headless: all columns of a table without a header.
    """

    path: str
    label: str | None
    headless: tuple[str, ...]


def _form(path: Path) -> _Form | None:
    """Return a table's form; ``None`` without a path or label column. Lists of videos need no header.

    Such a list has the columns path and label, or path, number of frames and label (MMAction2), or path alone.
    """
    header = _header(path)
    if not _is_listed(path.parent, header[0]):
        path_column = _first(header, PATH)
        label_column = _first(header, LABEL)
        if not path_column or not label_column:
            return None
        return _Form(path_column, label_column, (path_column, label_column))

    path_column, *_ = PATH
    label_column, *_ = LABEL
    if len(header) == 3 and header[1].isdecimal():
        return _Form(path_column, label_column, (path_column, "frames", label_column))
    if len(header) == 2:
        return _Form(path_column, label_column, (path_column, label_column))
    if len(header) == 1 and os.path.dirname(header[0]):
        return _Form(path_column, None, (path_column,))
    return None


def _is_listed(folder: Path, cell: str) -> bool:
    """Return whether a cell is a video's name, or the name of a file in the folder without its ending."""
    return is_video(cell) or (bool(cell) and is_video(Folders().there(os.path.abspath(folder / cell))))


def _misses(path: Path) -> str:
    """Quote the first line of a table in which the path or label column is missing."""
    return f"{path.name} begins with {', '.join(_header(path))[:200]!r}; needs a first line with path and label"


def _of_tables(tables: Mapping[Path, str | None]) -> OwnVideos:
    """Return the videos of a folder's tables.

    Paths are relative to the folder, or to a common parent if some videos lie outside. If any table has no labels, each
    video's label is its folder, in all tables.
    """
    forms: dict[Path, _Form] = {}
    for path in tables:
        form = _form(path)
        if not form:
            raise UserError(f"{path}: {_misses(path)}")
        forms[path] = form
    by_folder = any(form.label is None for form in forms.values())

    videos: list[OwnVideo] = []
    for path, split in tables.items():
        videos += _of_table(path, split, forms[path], by_folder=by_folder)

    root = os.path.abspath(min(tables).parent)
    paths = [video.path for video in videos]
    if os.path.commonpath([root, *paths]) != root:
        root = os.path.commonpath([os.path.dirname(path) for path in paths])
    relative = [replace(video, path=os.path.relpath(video.path, root)) for video in videos]
    return OwnVideos(relative, _names(tables), Path(root))


def _of_table(path: Path, split: str | None, form: _Form, *, by_folder: bool) -> Iterator[OwnVideo]:
    """Yield a table's videos with absolute paths; ``by_folder`` takes the name of a video's folder as its class."""
    columns = tuple(column for column in (form.path, form.label) if column)
    rows = read_annotations("table", path, columns, headless=form.headless, unique=form.path, files=form.path)
    others = _other_columns(path, form, rows)
    split_column = None if split else _split_column(path, others, rows)

    folders = Folders()
    for row in rows:
        video = folders.there(os.path.abspath(path.parent / row.text(form.path)))
        label = os.path.basename(os.path.dirname(video))
        if form.label and not by_folder:
            label = composed(row.text(form.label))
        _refuse_row(row, form, video=video, label=label)

        split_of_row = split
        if split_column:
            cell = row.cells[split_column]
            split_of_row = _split_named(cell)
            if not split_of_row:
                raise row.error(split_column, f"is {cell!r}, expected train, val or test")
        yield OwnVideo(video, label, split_of_row, columns=dict(row.cells))


def _other_columns(path: Path, form: _Form, rows: Sequence[AnnotationRow]) -> list[str]:
    """Return a table's columns besides path and label; refuse columns of times or of further labels."""
    times = like_times(rows[0].cells)
    if times:
        advice = "cut the videos, or write an experiment of VideoCSV, which reads parts; or rename the column"
        raise UserError(f"{path}: column {times[0]}: parts of videos are not supported here; {advice}")

    others = [name for name in rows[0].cells if name not in (form.path, form.label)]
    labels = [name for name in others if LIKE_LABELS.fullmatch(name)]
    if labels:
        fault = f"columns {form.label} and {labels[0]}: several labels per video are not learned"
        raise UserError(f"{path}: {fault}; keep one")
    return others


def _refuse_row(row: AnnotationRow, form: _Form, *, video: str, label: str) -> None:
    """Refuse a row with several labels, or one that is no video file."""
    if any(separator in label for separator in SEPARATORS):
        fault = f"is {label!r}; several labels per video are not learned, keep one"
        raise row.error(form.label or form.path, fault)
    if os.path.isdir(video) or is_picture(Path(video)):
        raise UserError(f"{video}: is a picture or a folder of frames; see docs/adding.md")
    if "\\" in video and not os.path.exists(video):
        raise row.error(form.path, f"is {row.text(form.path)}, which does not exist; write / for the backslashes")


def _split_column(path: Path, names: Sequence[str], rows: Sequence[AnnotationRow]) -> str | None:
    """Return the column of splits: by its name, or because every cell names a split; refuse several such columns."""
    columns: list[str] = []
    for name in names:
        splits = [_split_named(row.cells[name]) for row in rows]
        if name.lower() in SPLIT_COLUMNS or all(splits):
            columns.append(name)
    if len(columns) > 1:
        raise UserError(f"{path}: columns {', '.join(columns)} could all name the splits; keep one")
    return next(iter(columns), None)
