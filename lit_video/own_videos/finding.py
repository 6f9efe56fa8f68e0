"""The videos of a folder and their classes: class folders, with or without splits, or a table; the list of them."""

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from pathlib import Path

from lit_video.errors import UserError
from lit_video.own_videos.listed import AS_THEY_LOOK, ColumnsAsked, listed_videos
from lit_video.utils.annotations import first_rows
from lit_video.utils.columns import split_meant, with_eval
from lit_video.utils.files import PICTURES, TABLES, entries_of, files_below, is_folder, is_video, write_table
from lit_video.utils.splits import SPLITS
from lit_video.utils.text import case_twins, class_name, counted, natural, printable
from lit_video.utils.video_files import TableForm, table_form

KINDS_NAMED = 10  # most kinds of unused files that are named
LOOKED_AT = 10_000  # most files that are counted to say what is in a folder without class folders
EXPECTED = "expected DIR/CLASS/VIDEO.mp4, DIR/train/CLASS/VIDEO.mp4 (and test/, val/), "
EXPECTED += "or DIR/labels.csv with columns path and label"
DRAW = "group"  # column that names the draw of each video


@dataclass(frozen=True)
class OwnVideo:
    """A video of a class."""

    path: str  # relative to the root
    label: str  # name of its class
    split: str | None = None  # split or fold; None before the videos are divided
    _: KW_ONLY
    start: float | None = None  # start of the segment, in seconds; None for the video's start
    end: float | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # cells of its row in the table, by column

    @property
    def is_part(self) -> bool:
        """Whether it is a segment of a video file."""
        return self.start is not None or self.end is not None

    @property
    def name(self) -> str:
        """Path and, of a segment, start and end, for people and as a key."""
        if not self.is_part:
            return self.path
        end = "" if self.end is None else f"{self.end:g}"
        return f"{self.path} ({self.start or 0:g} to {end} s)"


@dataclass(frozen=True)
class OwnVideos:
    """The user's videos, and how they were found.

    Attributes:
        root: folder to which their paths are relative.
        where: how they were found, in words.
        unused: number of other files by kind.
        notes: lines on the table's columns: what was taken for what, and what is not used.
    """

    videos: Sequence[OwnVideo]
    where: str
    root: Path
    _: KW_ONLY
    unused: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()

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


def find_own_videos(place: Path, asked: ColumnsAsked = AS_THEY_LOOK) -> OwnVideos:
    """Find videos in class folders, with or without splits, or by a table, whose columns the user may name."""
    if place.is_file() and place.suffix.lower() in TABLES:
        own = _of_tables({place: None}, asked)
    elif place.is_dir():
        tables = _tables_in(place)
        own = _tables(place, tables, asked) or _class_folders(place, tables)
    else:
        raise UserError(f"{place}: no such folder, and no table ({', '.join(TABLES)})")

    expected = EXPECTED.replace("DIR", str(place))
    if not own.videos:
        raise UserError(f"{place}: {_what_is_there(place)}; {expected}")
    if len(own.class_names) < 2:
        fault = f"holds one class ({own.class_names[0]}); a classifier needs two or more"
        raise UserError(f"{place}: {fault}; looked at {own.where}; {expected}")

    path_of: dict[str, str] = {}
    for video in own.videos:  # a file that is there twice could be in both training and test
        first = path_of.setdefault(os.path.realpath(own.root / video.path), video.path)
        if first != video.path:
            raise UserError(f"{own.root / video.path}: is the same file as {own.root / first}; keep one of them")
    return own


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
    for entry in entries_of(root):
        split = split_meant(entry.name)
        if split and is_folder(entry) and any(_videos(Path(entry.path), 2)):
            named.setdefault(split, Path(entry.path))

    folders = {split: named[meant] for meant, split in with_eval(named).items()}
    if "train" not in folders and any(_videos(root, 2)):
        return {}
    return {split: folders[split] for split in SPLITS if split in folders}


def _videos(root: Path, depth: int) -> Iterator[Path]:
    """Yield the videos at a depth below a folder, sorted, without hidden ones."""
    for entry in entries_of(root):
        if depth > 1 and is_folder(entry):
            yield from _videos(Path(entry.path), depth - 1)
        elif depth == 1 and is_video(entry.name) and Path(entry.path).is_file():
            yield Path(entry.path)


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
            videos.append(OwnVideo(str(path.relative_to(root)), class_name(path.parent.name), split))
            used.add(path)
    if splits:
        where = f"class folders in {_names(splits.values())}"
        return OwnVideos(videos, where, root, unused=_unused(root, used))

    where = "class folders"
    for path in tables:
        where += f"; not used: {_misses(path)}"
    labels = {*labels_of(videos)}
    like_splits = sorted(label for label in labels if split_meant(label))
    if len(labels) > 1 and len(like_splits) == len(labels):
        fault = f"{', '.join(like_splits)} are splits, and hold videos without class folders"
        raise UserError(f"{root}: {fault}; {EXPECTED.replace('DIR', str(root))}")
    if like_splits:
        where += f"; {', '.join(like_splits)} read as a class: no class folders in it"
    return OwnVideos(videos, where, root, unused=_unused(root, used.union(tables)))


def _names(paths: Iterable[Path]) -> str:
    """Return the names of files, separated by commas."""
    return ", ".join(path.name for path in paths)


def _split_of_table(path: Path) -> str | None:
    """Return what a table's name says of its split, such as ``train.csv``, ``testlist01.txt`` or ``val_videos.txt``."""
    name = re.sub(r"[_\-. ]*(?:list|split|videos|files|set)?[_\-. ]*\d*$", "", path.stem.lower())
    return split_meant(name)


def _tables_in(root: Path) -> list[Path]:
    """Return the tables in a folder; .txt files count only if they list videos."""
    tables: list[Path] = []
    for entry in entries_of(root):
        path = Path(entry.path)
        ending = path.suffix.lower()
        if ending in TABLES and path.is_file() and (ending != ".txt" or _is_list(path)):
            tables.append(path)
    return tables


def _is_list(path: Path) -> bool:
    """Return whether a file lists videos with or without labels."""
    form = table_form(path)
    return form is not None and (form.label is not None or form.is_list)


def _tables(root: Path, tables: Sequence[Path], asked: ColumnsAsked) -> OwnVideos | None:
    """Return the videos of a table, or of a table per split; ``None`` if there is no table, or split folders exist.

    A table of a header and paths without labels, as competitions have for the test, is not used.
    """
    if _split_folders(root):
        return None

    named: dict[str, Path] = {}
    for path in tables:
        meant = _split_of_table(path)
        if meant and _is_list(path):
            named.setdefault(meant, path)
    table_of = {split: named[meant] for meant, split in with_eval(named).items()}
    split_of: dict[Path, str | None] = {table_of[split]: split for split in SPLITS if split in table_of}
    if "train" not in table_of:  # one table lists the videos of all splits
        split_of = {path: None for path in tables if _is_list(path)}
        if len(split_of) > 1:
            fault = "could all be the table of the videos; give one of them, or keep one there"
            raise UserError(f"{root}: {_names(split_of)} {fault}")
    if not split_of:
        return None

    own = _of_tables(split_of, asked)
    used = {own.root / video.path for video in own.videos}
    used.update(path.absolute() for path in split_of)
    unlabelled = [path.name for path in tables if path not in split_of and _split_of_table(path) and table_form(path)]
    notes = [f"not used: {name}, which has no labels" for name in unlabelled]
    return replace(own, unused=_unused(root.absolute(), used), notes=[*own.notes, *notes])


def _misses(path: Path) -> str:
    """Quote the first line of a table in which the path or label column is missing."""
    header = next(iter(first_rows(path, 1)), [])
    return f"{path.name} begins with {', '.join(header)[:200]!r}; needs a first line with path and label"


def _of_tables(tables: Mapping[Path, str | None], asked: ColumnsAsked) -> OwnVideos:
    """Return the videos of a folder's tables.

    Paths are relative to the folder, or to a common parent if some videos lie outside. If any table has no labels, each
    video's label is its folder, in all tables.
    """
    forms: dict[Path, TableForm] = {}
    for path in tables:
        form = table_form(path)
        if not form or not (form.label or form.is_list):
            raise UserError(f"{path}: {_misses(path)}")
        forms[path] = form
    by_folder = any(form.label is None for form in forms.values())

    videos: list[OwnVideo] = []
    notes: list[str] = []
    for path, split in tables.items():
        listed = listed_videos(path, forms[path], split, asked, by_folder=by_folder)
        for video in listed.videos:
            videos.append(
                OwnVideo(video.file, video.label, video.split, start=video.start, end=video.end, columns=video.cells)
            )
        notes += [note if len(tables) == 1 else f"{path.name}: {note}" for note in listed.notes]

    root = os.path.abspath(min(tables).parent)
    paths = [video.path for video in videos]
    if os.path.commonpath([root, *paths]) != root:
        root = os.path.commonpath([os.path.dirname(path) for path in paths])
    relative = [replace(video, path=os.path.relpath(video.path, root)) for video in videos]
    return OwnVideos(relative, _names(tables), Path(root), notes=notes)


def found_in_words(own: OwnVideos, place: Path) -> list[str]:
    """Say how many videos were found, and which files are not used."""
    notes = [f"{len(own.videos)} videos of {len(own.class_names)} classes in {place} ({own.where})"]
    if twins := case_twins(own.class_names):
        notes.append(printable(twins))
    notes += [printable(note) for note in own.notes]
    kinds = counted(dict(sorted(own.unused.items())))
    if len(kinds) > KINDS_NAMED:
        kinds[KINDS_NAMED:] = [f"{len(kinds) - KINDS_NAMED} other kinds of files"]
    if kinds:
        endings = [kind.partition(" ")[0] for kind in own.unused]  # a kind is an ending, perhaps with its folder
        has_videos = any(is_video(f"name{ending}") for ending in endings)
        deeper = "; videos are read as DIR/CLASS/VIDEO, others by a table" if has_videos else ""
        notes.append(f"not used: {', '.join(kinds)}{deeper}")
    return notes


def write_videos(file: Path, videos: Sequence[OwnVideo], draws: Sequence[str] | None = None) -> list[str]:
    """Write the table of videos with their segments, splits and draws, as far as they have any; return its columns."""
    # blanks around a cell would be cut, so a path that begins or ends with one begins with a point
    paths = [video.path if video.path == video.path.strip() else f"./{video.path}" for video in videos]
    columns: dict[str, Sequence[str | None]] = {"path": paths, "label": labels_of(videos)}
    if any(video.is_part for video in videos):
        columns["start"] = [_seconds(video.start) for video in videos]
        columns["end"] = [_seconds(video.end) for video in videos]
    if any(splits_of(videos)):
        columns["split"] = splits_of(videos)
    if draws:
        columns[DRAW] = draws
    write_table(file, [[*columns], *zip(*columns.values(), strict=True)])
    return [*columns]


def _seconds(time: float | None) -> str:
    return "" if time is None else repr(time)
