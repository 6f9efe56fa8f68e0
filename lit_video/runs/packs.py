"""Packs of finished runs: ``RUNS/TABLE.tar.xz`` holds the folders of a table's runs, as if unpacked beside it."""

import io
import lzma
import re
import tarfile
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from lit_video.errors import UserError
from lit_video.utils.files import MOST_BYTES, UNPACKED, read_whole, within

ENDING = ".tar.xz"

NAME_PATTERN = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}"  # name of a table, scale, row or file
SEED_FOLDER = r"seed(\d{1,18})"
MEMBER = re.compile(rf"({NAME_PATTERN}/){{3}}{SEED_FOLDER}/{NAME_PATTERN}", re.ASCII)

PackedFiles = Mapping[str, bytes]  # a run's files by name


def pack_of(table_dir: Path) -> Path:
    """Return the path of a table's pack, which may not exist."""
    return table_dir.parent / f"{table_dir.name}{ENDING}"


def packed_runs(pack: Path) -> Mapping[Path, PackedFiles]:
    """Return the files of a pack's runs by folder, as if unpacked beside the pack."""
    if not pack.name.endswith(ENDING):
        raise UserError(f"{pack}: is no folder of runs and no pack of a table's runs (TABLE{ENDING})")
    state = pack.stat()
    read = partial(_unpacked, pack, state.st_mtime_ns, state.st_size)
    return read_whole(pack, read, "pack its runs again; it must be named TABLE.tar.xz") or {}


def most_unpacked(packed: int) -> int:
    """Return the most bytes that a pack of ``packed`` bytes may unpack to; ``pack`` refuses to write more."""
    return max(UNPACKED * packed, MOST_BYTES)


@lru_cache(maxsize=64)
def _unpacked(pack: Path, changed: int, size: int) -> Mapping[Path, PackedFiles]:
    """Return the files of a pack; the time of its last change and its size are keys of the cache alone."""
    most = most_unpacked(size)
    with lzma.open(pack) as file:
        content = file.read(most + 1)
    within("unpacked size", len(content), most)

    table = pack.name.removesuffix(ENDING)
    runs: dict[Path, dict[str, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            is_named = member.name.startswith(f"{table}/") and MEMBER.fullmatch(member.name)
            if not is_named or not member.isreg() or member.issparse():
                raise ValueError(f"{member.name[:40]!r} in it is no file of {table}/SCALE/ROW/seedK")

            path = pack.parent / member.name
            files = runs.setdefault(path.parent, {})
            if path.name in files:
                raise ValueError(f"{member.name} is in it twice")
            files[path.name] = content[member.offset_data : member.offset_data + member.size]
    return runs
