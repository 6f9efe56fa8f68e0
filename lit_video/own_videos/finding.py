"""The videos of a folder and their classes: class folders, with or without splits, or a table."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.annotations import SEPARATORS, Row, like_times, read_table
from lit_video.utils.files import PICTURES, TABLES, files_below, is_video
from lit_video.utils.text import natural

SPLITS: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
# names of columns; the first that is present counts
PATH = ("path", "video", "file", "filename", "video_path", "name")
LABEL = ("label", "class", "category", "action")
SPLIT = ("split", "subset", "set")
LIKE_LABELS = re.compile(r"(?:label|class|category|action)_?\d+", re.I)
LOOKED_AT = 10_000  # files counted to describe a folder without class folders
EXPECTED = (
    "expected DIR/CLASS/VIDEO.mp4, DIR/train/CLASS/VIDEO.mp4 (and test/, val/), "
    "or DIR/labels.csv with columns path and label"
)


@dataclass(frozen=True)
class OwnVideo:
    """A video of a class."""

    path: str  # relative to the root
    label: str  # name of its class
    split: str | None = None  # split or fold; None if the folder has no splits
    columns: Mapping[str, str] = field(default_factory=dict)  # cells of its row in the table, by column


@dataclass(frozen=True)
class OwnVideos:
    """Videos with paths relative to ``root``, where they were found (in words), and counts of unused files."""

    videos: Sequence[OwnVideo]
    found: str
    root: Path
    unused: Mapping[str, int] = field(default_factory=dict)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, sorted."""
        return sorted({video.label for video in self.videos}, key=natural)


def find_videos(place: Path) -> OwnVideos:
    """Find videos in class folders, with or without splits, or by a table.

    Raises:
        UserError: there is no such folder, or fewer than two classes; a table is wrong, or for another task.
    """
    if place.is_file() and place.suffix.lower() in TABLES:
        found = _of_tables(place.parent, {place: None})
    elif place.is_dir():
        tables = _tables_in(place)
        found = (None if _split_folders(place) else _tables(place, tables)) or _class_folders(place, tables)
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
    """Refuse a file that is listed twice, by a link or another spelling: it could be in training and test."""
    seen: dict[str, str] = {}
    for video in found.videos:
        if (other := seen.setdefault(os.path.realpath(found.root / video.path), video.path)) is not video.path:
            raise UserError(f"{found.root / video.path}: is the same file as {found.root / other}; keep one of them")


def _unused(root: Path, used: Collection[Path]) -> Counter[str]:
    """Count the unused files below a folder by ending and, outside class folders, by folder."""
    counts, classes = Counter[str](), {root, *(path.parent for path in used)}
    for path in files_below(root):
        if path not in used:
            where = "" if path.parent in classes else f" in {path.relative_to(root).parts[0]}/"
            counts[(path.suffix.lower() or "without ending") + where] += 1
    return counts


def _what_is_there(root: Path) -> str:
    """Say what a folder without videos by class holds instead."""
    files = [path.relative_to(root) for path in islice(files_below(root), LOOKED_AT) if path.is_file()]
    counts = Counter(path.suffix.lower() or "without ending" for path in files).most_common(3)
    found = ", ".join(f"{count} {ending}" for ending, count in counts) or "no file"
    why = "no video"
    if videos := [path for path in files if is_video(path)]:
        why = f"{videos[0]} lies in no class folder of it"
    elif any(path.suffix.lower() in PICTURES for path in files):
        why = "no video; docs/adding.md has a way for pictures and folders of frames"
    return "; ".join([f"holds {found}: {why}", *map(_misses, _tables_in(root))])


def _split_folders(root: Path) -> Mapping[str, Path]:
    """Return the split folders of ``DIR/SPLIT/CLASS/VIDEO``, named in upper or lower case.

    A folder of class folders is a split, a folder of videos a class. Without ``train``, splits count only if no class
    folders lie beside them.
    """
    folders: dict[str, Path] = {}
    shown = sorted(path for path in root.glob("[!.]*") if path.is_dir())
    for split, names in SPLITS.items():
        of_split = [path for name in names for path in shown if path.name.lower() == name and any(_videos(path, 2))]
        if of_split:
            folders[split] = of_split[0]
    return folders if "train" in folders or not any(_videos(root, 2)) else {}


def _videos(root: Path, depth: int) -> Iterator[Path]:
    paths = sorted(root.glob("/".join(["[!.]*"] * depth)))
    return (path for path in paths if is_video(path) and path.is_file())


def _class_folders(root: Path, tables: Sequence[Path]) -> OwnVideos:
    """Return the videos of ``DIR/CLASS/VIDEO``, or of every split's classes."""
    splits = _split_folders(root)
    videos = [
        OwnVideo(str(path.relative_to(root)), path.parent.name, split)
        for split, folder in splits.items() or [(None, root)]
        for path in _videos(folder, 2)
    ]
    found = "; ".join(["class folders", *(f"not used: {_misses(path)}" for path in tables)])
    if splits:
        found = f"class folders in {', '.join(folder.name for folder in splits.values())}"
    elif named := sorted({video.label for video in videos if _split_named(video.label)}):
        found += f"; {', '.join(named)} read as a class: no class folders in it"
    used = {root / video.path for video in videos} | (set() if splits else {*tables})
    return OwnVideos(videos, found, root, _unused(root, used))


def _split_named(name: str) -> str | None:
    return next((split for split, names in SPLITS.items() if name.lower() in names), None)


def _tables_in(root: Path) -> list[Path]:
    """Return the tables in a folder; .txt files count only if they list videos."""
    files = sorted(path for path in root.iterdir() if path.suffix.lower() in TABLES and path.is_file())
    return [path for path in files if path.suffix.lower() != ".txt" or all(_columns(path))]


def _tables(root: Path, tables: Sequence[Path]) -> OwnVideos | None:
    """Return the videos of one table for all splits, or of one per split."""
    first = {_split_named(path.stem): path for path in reversed(tables)}
    by_split: dict[Path, str | None] = {first[split]: split for split in SPLITS if split in first}
    if "train" not in by_split.values():
        labelled = [path for path in tables if all(_columns(path))]
        if len(labelled) > 1:
            names = ", ".join(path.name for path in labelled)
            raise UserError(
                f"{root}: {names} could all be the table of the videos; give one of them, or keep one there"
            )
        by_split = dict.fromkeys(labelled)
    if not by_split:
        return None
    found = _of_tables(root, by_split)
    used = {found.root / video.path for video in found.videos} | {*map(Path.absolute, by_split)}
    return replace(found, unused=_unused(root.absolute(), used))


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(10_000).strip()
    mark = next((mark for mark in "\t,;" if mark in line), None)
    return [cell.strip().strip('"') for cell in line.split(mark)]


def _columns(path: Path) -> list[str | None]:
    """Return a table's path and label columns, ``None`` for missing ones; a list of videos needs no header."""
    header = _header(path)
    if is_video(header[0]) and len(header) == 2:
        return [PATH[0], LABEL[0]]
    return [next((name for name in header if name.lower() in known), None) for known in (PATH, LABEL)]


def _misses(path: Path) -> str:
    """Say how a table begins, and which columns it lacks."""
    needs = [name for name, column in zip(("path", "label"), _columns(path), strict=True) if column is None]
    return f"{path.name} begins with {', '.join(_header(path))[:200]!r}; needs a first line with {' and '.join(needs)}"


def _of_tables(folder: Path, tables: Mapping[Path, str | None]) -> OwnVideos:
    """Return the videos of tables by split; paths are relative to the folder, or to their common parent."""
    videos = [video for path, split in tables.items() for video in _of_table(path, split)]
    places = [os.path.abspath(folder / video.path) for video in videos]
    root = Path(os.path.abspath(folder))
    if not all(Path(place).is_relative_to(root) for place in places):
        root = Path(os.path.commonpath([os.path.dirname(place) for place in places]))
    for place in places:
        if os.path.isdir(place) or Path(place).suffix.lower() in PICTURES:
            raise UserError(f"{place}: is a picture or a folder of frames, which docs/adding.md has a way for")
    videos = [replace(video, path=os.path.relpath(place, root)) for video, place in zip(videos, places, strict=True)]
    return OwnVideos(videos, ", ".join(path.name for path in tables), root)


def _of_table(path: Path, split: str | None = None) -> list[OwnVideo]:
    place, label = _columns(path)
    if place is None or label is None:
        raise UserError(f"{path}: {_misses(path)}")
    rows = read_table("table", path, (place, label), (place, label), unique=place, files=place)
    if times := like_times(rows[0].cells):
        advice = "cut the videos, or write an experiment of VideoCSV, which reads parts; or rename the column"
        raise UserError(f"{path}: column {times[0]}: parts of videos are not taken here; {advice}")
    if more := [name for name in rows[0].cells if LIKE_LABELS.fullmatch(name)]:
        raise UserError(f"{path}: column {more[0]}: several labels per video are not learned; keep one column label")
    if several := [row for row in rows if any(mark in row.text(label) for mark in SEPARATORS)]:
        what = f"is {several[0].text(label)!r}; several labels per video are not learned, keep one"
        raise several[0].error(label, what)
    return [OwnVideo(row.text(place), row.text(label), split or _split_of(row), dict(row.cells)) for row in rows]


def _split_of(row: Row) -> str | None:
    column = next((name for name in row.cells if name.lower() in SPLIT), None)
    if column is None:
        return None
    if (split := _split_named(row.cells[column])) is None:
        raise row.error(column, f"is {row.cells[column]!r}, expected train, val or test")
    return split
