"""Read and write files: whole or not at all; the package's own folder; a digest of a checkpoint."""

import csv
import hashlib
import io
import os
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from lit_video.errors import UserError

T = TypeVar("T")


def write_atomically(path: Path, text: str) -> None:
    """Write a text that is either whole or not there."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def write_table(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a csv that is either whole or not there."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, text.getvalue())


def read_text(path: Path, limit: int = 64 << 20) -> str:
    """The text of a file of reasonable size, in UTF-8.

    Args:
        path: of a plain file.
        limit: bytes; a larger file is damage, or not ours, and is not read.

    Raises:
        ValueError: it is larger, is no plain file, or is not UTF-8.
        OSError: it cannot be read.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("no plain file")
    if found.st_size > limit:
        raise ValueError(f"of {found.st_size / 2**20:.0f} MB, more than {limit >> 20}")
    return path.read_text(encoding="utf-8")


def read_whole(path: Path, read: Callable[[], T], then: str) -> T | None:
    """The result of a reader of one of our own files; ``None`` if there is no such file.

    Args:
        path: of the file, for the message.
        read: opens and parses it; whatever it raises is damage.
        then: what to do about a damaged file.

    Raises:
        UserError: the file is damaged.
    """
    try:
        return read()
    except FileNotFoundError:
        return None
    except UserError:
        raise
    except Exception as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error).partition("\n")[0][:100]
        raise UserError(f"{path} is damaged ({reason or type(error).__name__}): {then}") from None


def files_below(folder: Path) -> Iterator[Path]:
    """All files in a folder and those in it, in the order of names; links to folders are followed, each folder once."""
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:  # a link in a circle
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (Path(place) / name for name in sorted(names))


def data_folder(given: str | None = None) -> Path:
    """The given folder, else ``$LIT_VIDEO_DATA``, else ``~/.cache/lit_video``."""
    return Path(given or os.environ.get("LIT_VIDEO_DATA") or "~/.cache/lit_video").expanduser()


def data_root(given: str) -> Path:
    """Folder of a data set; a given ``$LIT_VIDEO_DATA/NAME`` lies in :func:`data_folder`."""
    variable, _, name = given.partition("/")
    return data_folder() / name if variable == "$LIT_VIDEO_DATA" else Path(given).expanduser()


def checkpoint_digest(path: Path) -> str:
    """SHA-256, in hex, of what the file's table of contents says of each member: its name, CRC-32 and size in bytes.

    ``torch.save`` writes a zip whose members lie in one folder named like the file; that folder's name is left out, so
    that a copy or a rename keeps the digest. The members' bytes are not read: a file of gigabytes takes milliseconds,
    and damage inside a member goes unseen until it is loaded.

    Raises:
        ValueError: the file is no zip, or its table of contents is damaged.
        OSError: the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = sorted((m.filename.partition("/")[2], m.CRC, m.file_size) for m in archive.infolist())
    except OSError:
        raise
    except Exception as error:  # a damaged table of contents can raise anything
        raise ValueError(f"{path}: no checkpoint of torch.save: {error}") from None
    return hashlib.sha256(repr(members).encode()).hexdigest()
