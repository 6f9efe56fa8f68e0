"""The videos of a folder and their classes: class folders, with or without splits, or a table."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lit_video.errors import UserError
from lit_video.utils.annotations import SEPARATORS, Row, like_times, read_table
from lit_video.utils.files import PICTURES, TABLES, files_below, is_picture, is_video, is_visible
from lit_video.utils.folders import Folders
from lit_video.utils.text import composed, counted, natural

NAMES = {"train": "train", "training": "train"}  # name of a folder, table or cell -> split
NAMES |= dict.fromkeys(("val", "valid", "validation", "dev"), "val") | dict.fromkeys(("test", "testing"), "test")
SPLITS = tuple(dict.fromkeys(NAMES.values()))
# names of columns; a table's first column with such a name is read, or one in which every cell names a split
PATH = ("path", "video", "file", "filename", "video_path", "name")
LABEL = ("label", "class", "category", "action")
SPLIT = ("split", "subset", "set")
LIKE_LABELS = re.compile(r"(?:label|class|category|action)(?:_?\d+)?", re.I)
LOOKED_AT = 10_000  # most files that are counted to describe a folder without class folders
EXPECTED = "expected DIR/CLASS/VIDEO.mp4, DIR/train/CLASS/VIDEO.mp4 (and test/, val/), "
EXPECTED += "or DIR/labels.csv with columns path and label"


@dataclass(frozen=True)
class OwnVideo:
    """A video of a class."""

    path: str  # relative to the root
    label: str  # name of its class
    split: str | None = None  # split or fold; None before the videos are divided
    columns: Mapping[str, str] = field(default_factory=dict)  # cells of its row in the table, by column


@dataclass(frozen=True)
class OwnVideos:
    """Videos with paths relative to ``root``; ``found`` says where they were found, ``unused`` counts other files."""

    videos: Sequence[OwnVideo]
    found: str
    root: Path
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


def find_videos(place: Path) -> OwnVideos:
    """Find videos in class folders, with or without splits, or by a table."""
    if place.is_file() and place.suffix.lower() in TABLES:
        found = _of_tables({place: None})
    elif place.is_dir():
        tables = _tables_in(place)
        found = _tables(place, tables) or _class_folders(place, tables)
    else:
        raise UserError(f"{place}: no such folder, and no table ({', '.join(TABLES)})")
    if not found.videos:
        raise UserError(f"{place}: {_what_is_there(place)}; {EXPECTED.replace('DIR', str(place))}")
    if len(found.class_names) < 2:
        one = f"holds one class ({found.class_names[0]}); a classifier needs two or more"
        raise UserError(f"{place}: {one}; looked at {found.found}; {EXPECTED.replace('DIR', str(place))}")
    _refuse_links(found)
    return found


def _refuse_links(found: OwnVideos) -> None:
    """Refuse a file that is listed twice, by a link or another spelling, because it could be in training and test."""
    seen: dict[str, str] = {}
    for video in found.videos:
        if (other := seen.setdefault(os.path.realpath(found.root / video.path), video.path)) is not video.path:
            raise UserError(f"{found.root / video.path}: is the same file as {found.root / other}; keep one of them")


def _ending(path: Path) -> str:
    return path.suffix.lower() or "without ending"


def _unused(root: Path, used: Collection[Path]) -> Counter[str]:
    """Count the unused files below a folder by ending; count files outside of class folders by their folder too."""
    counts, classes = Counter[str](), {root, *(path.parent for path in used)}
    for path in {*files_below(root)} - {*used}:
        where = "" if path.parent in classes else f" in {path.relative_to(root).parts[0]}/"
        counts[_ending(path) + where] += 1
    return counts


def _what_is_there(root: Path) -> str:
    """Describe the files of a folder in which no videos by class were found."""
    files = [path for path in islice(files_below(root), LOOKED_AT) if path.is_file()]
    endings = Counter(map(_ending, files))
    found = ", ".join(counted(dict(endings.most_common(3)))) or "no file"
    why = "no video"
    if PICTURES & endings.keys():
        why = "no video; for pictures and folders of frames see docs/adding.md"
    if video := next(filter(is_video, files), None):
        why = f"{video.relative_to(root)} lies in no class folder there"
    return "; ".join([f"holds {found}: {why}", *map(_misses, _tables_in(root))])


def _split_folders(root: Path) -> Mapping[str, Path]:
    """Return the split folders of ``DIR/SPLIT/CLASS/VIDEO``, named in upper or lower case.

    A folder with the name of a split is a split only if it holds class folders. Without a ``train`` folder, there must
    also be no class folders beside it.
    """
    named, folders = dict[str, Path](), dict[str, Path]()
    for path in sorted(filter(lambda path: is_visible(path.name), root.glob("*"))):
        name = path.name.lower()
        if name in NAMES and any(_videos(path, 2)):
            named.setdefault(name, path)
    for name, split in NAMES.items():
        if name in named:
            folders.setdefault(split, named[name])
    return folders if "train" in folders or not any(_videos(root, 2)) else {}


def _videos(root: Path, depth: int) -> Iterator[Path]:
    paths = sorted(root.glob("/".join(["*"] * depth)))
    for path in filter(is_video, paths):
        if all(map(is_visible, path.relative_to(root).parts)) and path.is_file():
            yield path


def _class_folders(root: Path, tables: Sequence[Path]) -> OwnVideos:
    """Return the videos of ``DIR/SPLIT/CLASS/VIDEO`` if there are split folders, else of ``DIR/CLASS/VIDEO``."""
    splits = _split_folders(root)
    videos, used = list[OwnVideo](), set[Path]()
    for split, folder in splits.items() or [(None, root)]:
        for path in _videos(folder, 2):
            videos.append(OwnVideo(str(path.relative_to(root)), composed(path.parent.name), split))
            used.add(path)
    if splits:
        return OwnVideos(videos, f"class folders in {_names(splits.values())}", root, _unused(root, used))
    found = "; not used: ".join(["class folders", *map(_misses, tables)])
    if named := sorted(filter(_split_named, {*labels_of(videos)})):
        found += f"; {', '.join(named)} read as a class: no class folders in it"
    return OwnVideos(videos, found, root, _unused(root, used.union(tables)))


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _split_named(name: str) -> str | None:
    return NAMES.get(name.lower())


def _split_of_table(path: Path) -> str | None:
    """Return the split that a table's name tells, such as ``train.csv``, ``testlist01.txt`` or ``val_videos.txt``."""
    name = re.sub(r"[_\-. ]*(?:list|split|videos|files|set)?[_\-. ]*\d*$", "", path.stem.lower())
    return _split_named(name)


def _tables_in(root: Path) -> list[Path]:
    """Return the tables in a folder; .txt files count only if they list videos."""
    tables = list[Path]()
    for path in sorted(root.iterdir()):
        ending = path.suffix.lower()
        if ending in TABLES and path.is_file() and (ending != ".txt" or _form(path)):
            tables.append(path)
    return tables


def _tables(root: Path, tables: Sequence[Path]) -> OwnVideos | None:
    """Return the videos of a table, or of a table per split; ``None`` if there is no table, or split folders exist."""
    if _split_folders(root):
        return None
    by_split: dict[Path, str | None] = {}
    for split in SPLITS:
        of_split = [path for path in tables if _split_of_table(path) == split]
        by_split |= dict.fromkeys(of_split[:1], split)
    if "train" not in by_split.values():
        by_split = dict.fromkeys(filter(_form, tables))
        if len(by_split) > 1:
            what = "could all be the table of the videos; give one of them, or keep one there"
            raise UserError(f"{root}: {_names(by_split)} {what}")
    if not by_split:
        return None
    found = _of_tables(by_split)
    used = {found.root / video.path for video in found.videos}
    return replace(found, unused=_unused(root.absolute(), used.union(map(Path.absolute, by_split))))


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(10_000).strip()
    mark = next((mark for mark in "\t,;" if mark in line), None)
    return [cell.strip().strip('"') for cell in line.split(mark)]


def _first(names: Iterable[str], known: Collection[str]) -> str | None:
    """Return the first known name; ignore upper and lower case."""
    return next((name for name in names if name.lower() in known), None)


class _Form(NamedTuple):
    """Columns of a table: path, label (``None``: the label is the video's folder), and all of one without a header."""

    path: str
    label: str | None
    headless: tuple[str, ...]


def _form(path: Path) -> _Form | None:
    """Return a table's form; ``None`` without a path or label column. Lists of videos need no header.

    Such a list has the columns path and label, or path, number of frames and label (MMAction2), or path alone.
    """
    header = _header(path)
    if _is_listed(path.parent, header[0]):
        if len(header) == 3 and header[1].isdecimal():
            return _Form(PATH[0], LABEL[0], (PATH[0], "frames", LABEL[0]))
        if len(header) == 2:
            return _Form(PATH[0], LABEL[0], (PATH[0], LABEL[0]))
        return _Form(PATH[0], None, (PATH[0],)) if len(header) == 1 and os.path.dirname(header[0]) else None
    place, label = _first(header, PATH), _first(header, LABEL)
    return _Form(place, label, (place, label)) if place and label else None


def _is_listed(folder: Path, cell: str) -> bool:
    """Return whether a cell is a video's name, or names a file there that lacks its ending."""
    return is_video(cell) or (bool(cell) and is_video(Folders().there(os.path.abspath(folder / cell))))


def _misses(path: Path) -> str:
    """Quote the first line of a table in which the path or label column is missing."""
    return f"{path.name} begins with {', '.join(_header(path))[:200]!r}; needs a first line with path and label"


def _of_tables(tables: Mapping[Path, str | None]) -> OwnVideos:
    """Return the videos of a folder's tables; paths are relative to it, or to a common parent if some lie outside.

    If a table has no labels, the labels of all are the videos' folders.
    """
    forms = dict[Path, _Form]()
    for path in tables:
        if not (form := _form(path)):
            raise UserError(f"{path}: {_misses(path)}")
        forms[path] = form
    by_folder = any(form.label is None for form in forms.values())
    videos = list[OwnVideo]()
    for path, split in tables.items():
        videos += _of_table(path, split, forms[path], by_folder)
    root, paths = os.path.abspath(min(tables).parent), [video.path for video in videos]
    if os.path.commonpath([root, *paths]) != root:
        root = os.path.commonpath([*map(os.path.dirname, paths)])
    videos = [replace(video, path=os.path.relpath(video.path, root)) for video in videos]
    return OwnVideos(videos, _names(tables), Path(root))


def _of_table(path: Path, split: str | None, form: _Form, by_folder: bool) -> Iterator[OwnVideo]:
    """Yield a table's videos with their absolute paths; ``by_folder``: a video's class is its folder."""
    columns = tuple(filter(None, (form.path, form.label)))
    rows = read_table("table", path, columns, headless=form.headless, unique=form.path, files=form.path)
    if times := like_times(rows[0].cells):
        advice = "cut the videos, or write an experiment of VideoCSV, which reads parts; or rename the column"
        raise UserError(f"{path}: column {times[0]}: parts of videos are not supported here; {advice}")
    others = [name for name in rows[0].cells if name not in columns]
    if more := next(filter(LIKE_LABELS.fullmatch, others), None):
        raise UserError(f"{path}: columns {form.label} and {more}: several labels per video are not learned; keep one")
    of_split = None if split else _split_column(path, others, rows)
    folders = Folders()
    for row in rows:
        video = folders.there(os.path.abspath(path.parent / row.text(form.path)))
        name = (
            composed(row.text(form.label)) if form.label and not by_folder else os.path.basename(os.path.dirname(video))
        )
        if {*SEPARATORS} & {*name}:
            raise row.error(form.label or form.path, f"is {name!r}; several labels per video are not learned, keep one")
        if os.path.isdir(video) or is_picture(Path(video)):
            raise UserError(f"{video}: is a picture or a folder of frames; see docs/adding.md")
        if "\\" in video and not os.path.exists(video):
            raise row.error(form.path, f"is {row.text(form.path)}, which does not exist; write / for the backslashes")
        if of_split and not (split := _split_named(row.cells[of_split])):
            raise row.error(of_split, f"is {row.cells[of_split]!r}, expected train, val or test")
        yield OwnVideo(video, name, split, dict(row.cells))


def _split_column(path: Path, names: Sequence[str], rows: Sequence[Row]) -> str | None:
    """Return the column with a split's name, or in which every cell names a split; refuse several such columns."""
    found = list[str]()
    for name in names:
        splits = [_split_named(row.cells[name]) for row in rows]
        if name.lower() in SPLIT or all(splits):
            found.append(name)
    if len(found) > 1:
        raise UserError(f"{path}: columns {', '.join(found)} could all name the splits; keep one")
    return next(iter(found), None)
