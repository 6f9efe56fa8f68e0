"""Packs of finished runs: ``RUNS/TABLE.tar.xz`` holds the folders of a table's runs, as if unpacked beside it."""

import io
import lzma
import re
import tarfile
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from lit_video.utils.files import read_whole
from lit_video.utils.limits import MOST_BYTES, UNPACKED, within

ENDING = ".tar.xz"

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}"  # name of a table, scale, row or file
SEED = r"seed(\d{1,18})"
MEMBER = re.compile(rf"({NAME}/){{3}}{SEED}/{NAME}", re.ASCII)

Files = Mapping[str, bytes]  # a run's files by name


def pack_of(table_dir: Path) -> Path:
    """Return the path of a table's pack, which may not exist."""
    return table_dir.parent / f"{table_dir.name}{ENDING}"


def packed_runs(pack: Path) -> Mapping[Path, Files]:
    """Return the files of a pack's runs by folder, as if unpacked beside the pack."""
    found = pack.stat()
    read = partial(_unpacked, pack, found.st_mtime_ns, found.st_size)
    return read_whole(pack, read, "pack its runs again; it must be named TABLE.tar.xz") or {}


def largest(packed: int) -> int:
    """Return how many bytes a pack of ``packed`` bytes may hold; ``pack`` writes no larger one."""
    return max(UNPACKED * packed, MOST_BYTES)


@lru_cache(maxsize=64)
def _unpacked(pack: Path, changed: int, size: int) -> Mapping[Path, Files]:
    table, most = pack.name.removesuffix(ENDING), largest(size)
    with lzma.open(pack) as file:
        content = file.read(most + 1)
    within("unpacked size", len(content), most)
    runs: dict[Path, dict[str, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for member in archive:
            named = member.name.startswith(f"{table}/") and MEMBER.fullmatch(member.name)
            if not named or not member.isreg() or member.issparse():
                raise ValueError(f"{member.name[:40]!r} in it is no file of {table}/SCALE/ROW/seedK")
            path = pack.parent / member.name
            files = runs.setdefault(path.parent, {})
            if path.name in files:
                raise ValueError(f"{member.name} is in it twice")
            files[path.name] = content[member.offset_data : member.offset_data + member.size]
    return runs
