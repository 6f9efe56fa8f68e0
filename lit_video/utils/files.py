"""Reading and writing of files, whole or not at all and within limits of size, and the data folder."""

import csv
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import ELOOP
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar
from uuid import uuid4

from lit_video.errors import UserError
from lit_video.utils.text import to_bytes

# limits of sizes in files: far above any real size, and within a laptop's memory
MOST_PIXELS = 2**30  # a clip: 21,399 frames of 224 x 224
MOST_DRAWN = 2**36  # pixels of a drawn data set
MOST_LAYERS = 1000
MOST_CLASSES = 10_000  # one task: a confusion matrix of 0.8 GB
MOST_BYTES = 2**26  # bytes of a run's record, curve or picture
MOST_PREDICTIONS = 2**31  # bytes of a run's predictions: logits of 400 classes for a million videos
UNPACKED = 100  # largest ratio of unpacked to packed size
Content = TypeVar("Content")
UNSET = re.compile(r"\$(\w+|\{\w+\})")  # a variable in a path after its replacement
TABLES = (".csv", ".tsv", ".txt")
PROGRAMS = (".pt2", ".onnx")  # exported networks
PICTURES = {".jpg", ".jpeg", ".png"}
COMMON = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")  # endings of most videos
# other endings that FFmpeg reads as video; raw frames (.yuv) carry no size and are excluded
_RARE = """.3g2 .3gp .3gp2 .3gpp .amv .apng .asf .dav .dif .divx .dv .f4v .flv .gif .h261 .h263 .264 .h264 .265 .h265
.hevc .ismv .ivf .m1v .m2p .m2t .m2ts .m2v .mj2 .mjpeg .mjpg .mk3d .mod .mp4v .mpe .mpeg .mpg .mpv .mts .mxf .nut .obu
.ogv .qt .rm .rmvb .tod .trp .ts .vc1 .vob .wmv .wtv .y4m"""
_VIDEOS = {*COMMON, *_RARE.split()}

# folders that systems and network disks make (Windows, macOS, Linux, Synology, QNAP), in lower case
_OF_SYSTEMS = {"$recycle.bin", "recycler", "system volume information", "found.000", "__macosx", "lost+found"}
_OF_SYSTEMS |= {"@eadir", "#recycle", "#snapshot", "@recycle", "@recently-snapshot", "@tmp", "@sharebin"}


def within(name: str, value: float, most: float) -> None:
    """Raise a ValueError if a size is above its limit."""
    if value > most:
        raise ValueError(f"{name} is {value:g}, expected at most {most:,}")


def is_video(name: str | Path) -> bool:
    """Return whether a file is a video by its ending."""
    return os.path.splitext(name)[1].lower() in _VIDEOS


def is_picture(name: str | Path) -> bool:
    """Return whether a file is a picture by its ending."""
    return os.path.splitext(name)[1].lower() in PICTURES


def write_atomically(path: Path, text: str, shared: bool = False) -> None:
    """Write a text atomically, see :func:`write_bytes`."""
    write_bytes(path, to_bytes(text), shared)


def write_bytes(path: Path, content: bytes, shared: bool = False) -> None:
    """Write a file atomically; write directly to a device or a pipe.

    Several processes may write a ``shared`` file at once: the last one wins. Without ``shared``, the next write
    overwrites the partial file that a killed process left.
    """
    if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):
        path.write_bytes(content)
        return
    part = path.with_name(f".{path.name}{uuid4().hex if shared else ''}.part")
    with new_part(part) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


@contextmanager
def writing(flag: str, path: Path) -> Iterator[None]:
    """Raise a :class:`UserError` with the reason if a file cannot be written in the block."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{flag} {path}: {error.strerror}") from error


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a file that may come from anybody.

    Raises:
        ValueError: it is a link, which might lead to a private file of the reader's, a pipe or a device, or has more
            bytes than ``most``.
    """
    try:
        return read_plain(path, most, follow=False)
    except OSError as error:
        if error.errno == ELOOP:
            raise ValueError("it is a link, which is not followed: put a copy of the file there") from None
        raise


def read_plain(path: Path, most: int, follow: bool = True) -> bytes:
    """Return the content of a plain file; raise a ValueError for any other, and for more bytes than ``most``."""
    with open_plain(path, follow) as file:
        within("size in bytes", os.fstat(file.fileno()).st_size, most)
        return file.read()


def open_plain(path: Path, follow: bool = True) -> io.FileIO:
    """Open a plain file for reading, unbuffered; raise a ValueError for a pipe or a device, which might never end."""
    link = 0 if follow else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | link)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is no plain file")
    return open(descriptor, "rb", buffering=0)


def new_part(part: Path) -> BinaryIO:
    """Open a partial file for writing; replace one that a killed process left, or a link of somebody else's."""
    part.unlink(missing_ok=True)
    return part.open("xb")


def write_table(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a csv file atomically."""
    rows = [*rows]
    # every cell is quoted if one holds a carriage return, which the writer would leave as the end of a line
    holds_return = any("\r" in str(cell) for row in rows for cell in row)
    quoting: Literal[0, 1] = csv.QUOTE_ALL if holds_return else csv.QUOTE_MINIMAL
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    write_atomically(path, text.getvalue())


def read_whole(path: Path, read: Callable[[], Content], then: str) -> Content | None:
    """Return ``read()`` of one of our files, ``None`` if absent; report errors as damage, with the advice ``then``."""
    try:
        return read()
    except FileNotFoundError:
        return None
    except UserError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:100]
        raise UserError(f"{path} is damaged ({reason}): {then}") from None


def entries_of(folder: str | Path, hidden: bool = False) -> list[os.DirEntry[str]]:
    """List a folder by name, without hidden entries and those of systems; an absent folder is empty.

    Every place where a user's folder is listed calls this, so that no folder is taken for an empty one.

    Raises:
        UserError: the folder is there and cannot be listed: no permission, a stale handle, a fault of the disk.
    """
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry in entries if hidden or is_visible(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        fault = f"{folder}: cannot be listed ({error.strerror})"
        raise UserError(f"{fault}; make it readable, or move it elsewhere") from None
    return sorted(listed, key=lambda entry: entry.name)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; a circular link is none."""
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == ELOOP:
            return False
        raise UserError(f"{entry.path}: cannot be read ({error.strerror})") from None


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the visible files below a folder, sorted within each folder; follow links, but read no folder twice.

    Raises:
        UserError: a folder cannot be listed, see :func:`entries_of`.
    """
    seen: set[str] = set()
    places = [str(folder)]
    while places:
        place = places.pop()
        real = os.path.realpath(place)
        if real in seen:  # a circular link
            continue
        seen.add(real)

        folders: list[str] = []
        for entry in entries_of(place):
            if is_folder(entry):
                folders.append(entry.path)
            else:
                yield Path(entry.path)

        places += reversed(folders)


def is_visible(name: str) -> bool:
    """Return whether a file or folder is a user's, by its name: neither hidden nor made by a system."""
    return not name.startswith(".") and name.lower() not in _OF_SYSTEMS


def user_path(path: str | Path) -> Path:
    """Return a path as a shell would: ``~`` and ``$NAME`` replaced, unless a file has this very name.

    Shells leave ``--runs=~/x`` and values of YAML files as they are. A variable that is not set is refused.
    """
    text = str(path)
    if os.path.lexists(text):
        return Path(text)

    expanded = os.path.expandvars(os.path.expanduser(text))
    if unset := UNSET.search(expanded):
        raise UserError(f"{text}: the variable {unset[0]} is not set")
    return Path(expanded)


def data_folder(folder: str | None = None) -> Path:
    """Return ``folder``, else ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``."""
    return user_path(folder or os.environ.get("LIT_VIDEO_DATA") or "~/.cache/lit_video")


def data_root(root: str) -> Path:
    """Return the absolute folder of a data set; ``$LIT_VIDEO_DATA/NAME`` lies in :func:`data_folder`."""
    variable, _, name = root.partition("/")
    folder = data_folder() / name if variable == "$LIT_VIDEO_DATA" else user_path(root)
    return folder.absolute()


def refuse_no_root(root: Path, kind: str, source: str = "") -> None:
    """Refuse a folder that does not exist of a data set, by the name of its class; ``source``: what it should hold."""
    if root.is_dir():
        return
    content = "train/, val/ and test/" if kind == "VideoFolder" else f"annotations and videos of {kind}"
    raise UserError(f"data.root: {root} does not exist; give the folder that holds {source or content}")
