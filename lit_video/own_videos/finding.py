"""The videos of a folder and their classes: class folders, with or without splits, or a table."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lit_video.datamodules.annotations import Row, read_table
from lit_video.datamodules.base import Split
from lit_video.datamodules.folder import EXTENSIONS
from lit_video.errors import UserError

SPLITS: dict[Split, tuple[str, ...]] = {
    "train": ("train", "training"),
    "val": ("val", "valid", "validation", "dev"),
    "test": ("test", "testing"),
}
TABLES = (".csv", ".tsv")
# names of columns, the first that is there
PATH = ("path", "video", "file", "filename", "video_path", "name")
LABEL = ("label", "class", "category", "action")
SPLIT = ("split", "subset", "set")
EXPECTED = (
    "expected DIR/CLASS/VIDEO.mp4, DIR/train/CLASS/VIDEO.mp4 (and test/, val/), "
    "or DIR/labels.csv with columns path and label"
)


@dataclass(frozen=True)
class OwnVideo:
    """A video.

    Args:
        path: from the folder.
        label: name of its class.
        split: split by the folder's name; ``None`` if the folder has no splits.
        columns: all that a table says of it, by column.
    """

    path: str
    label: str
    split: Split | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnVideos:
    """Videos of a folder.

    Args:
        videos: in it.
        found: where they were found, for the user.
        unused: files that are no videos, by their ending.
    """

    videos: Sequence[OwnVideo]
    found: str
    unused: Mapping[str, int] = field(default_factory=dict)

    @property
    def class_names(self) -> list[str]:
        """Sorted."""
        return sorted({video.label for video in self.videos})


def find_videos(root: Path) -> OwnVideos:
    """Look for videos in the ways that people keep them.

    Raises:
        UserError: there is no such folder, or no video in two classes; a table is wrong.
    """
    if not root.is_dir():
        raise UserError(f"{root}: no such folder")
    tables = sorted(path for path in root.iterdir() if path.suffix.lower() in TABLES)
    found = _split_folders(root) or _tables(root, tables) or _class_folders(root)
    if found is None or not found.videos:
        raise UserError(f"{root}: holds no videos by class; {EXPECTED.replace('DIR', str(root))}")
    if len(found.class_names) < 2:
        raise UserError(f"{root}: holds one class ({found.class_names[0]}); a classifier needs two or more")
    return found


def _split_folders(root: Path) -> OwnVideos | None:
    """``DIR/SPLIT/CLASS/VIDEO``, if there is a folder of training videos."""
    folders = {split: folder for split, names in SPLITS.items() for name in names if (folder := root / name).is_dir()}
    if "train" not in folders:
        return None
    videos, unused = list[OwnVideo](), Counter[str]()
    for split, folder in folders.items():
        found, others = _in_class_folders(root, folder)
        videos += [replace(video, split=split) for video in found]
        unused += others
    return OwnVideos(videos, f"class folders in {', '.join(f.name for f in folders.values())}", unused)


def _class_folders(root: Path) -> OwnVideos:
    videos, unused = _in_class_folders(root, root)
    return OwnVideos(videos, "class folders", unused)


def _in_class_folders(root: Path, folder: Path) -> tuple[list[OwnVideo], Counter[str]]:
    """Videos, and how many other files there are, by ending."""
    videos, unused = list[OwnVideo](), Counter[str]()
    for path in sorted(folder.glob("[!.]*/[!.]*")):
        if path.is_file() and path.suffix.lower() in EXTENSIONS:
            videos.append(OwnVideo(str(path.relative_to(root)), path.parent.name))
        else:
            unused[path.suffix.lower() if path.is_file() else "folders"] += 1
    return videos, unused


def _tables(root: Path, tables: Sequence[Path]) -> OwnVideos | None:
    """A table of all videos, or one for each split."""
    by_split = {split: path for split, names in SPLITS.items() for path in tables if path.stem.lower() in names}
    if "train" in by_split:
        videos = [video for split, path in by_split.items() for video in _of_table(path, split)]
        return OwnVideos(videos, ", ".join(path.name for path in by_split.values()))
    labelled = [path for path in tables if _columns(path)]
    if len(labelled) > 1:
        names = ", ".join(path.name for path in labelled)
        raise UserError(f"{root}: {names} could all be the table of the videos; keep one of them there")
    return OwnVideos(_of_table(labelled[0]), labelled[0].name) if labelled else None


def _columns(path: Path) -> tuple[str, str] | None:
    """The columns of the path and the label, of a table that has both."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = [cell.strip().strip('"') for cell in re.split("[\t;,]", file.readline())]
    names = [next((name for name in header if name.lower() in known), None) for known in (PATH, LABEL)]
    return (names[0], names[1]) if names[0] and names[1] else None


def _of_table(path: Path, split: Split | None = None) -> list[OwnVideo]:
    columns = _columns(path)
    if columns is None:
        raise UserError(f"{path}: no header with a column path and a column label; add it as the first line")
    rows = read_table("table", path, columns)
    return [
        OwnVideo(row.text(columns[0]), row.text(columns[1]), split or _split_of(row), dict(row.cells)) for row in rows
    ]


def _split_of(row: Row) -> Split | None:
    column = next((name for name in row.cells if name.lower() in SPLIT), None)
    if column is None:
        return None
    split = next((split for split, names in SPLITS.items() if row.cells[column].lower() in names), None)
    if split is None:
        raise row.error(column, f"is {row.cells[column]!r}, expected train, val or test")
    return split
