"""Files of runs, in a folder each or packed: ``RUNS/TABLE.tar.xz`` holds the folders of a table's runs.

A run is named by its folder ``RUNS/TABLE/SCALE/ROW/seedK`` wherever it lies; readers take that name. A folder with a
result goes before the pack beside it.
"""

import tarfile
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from lit_video.utils.files import read_whole

RESULT = "result.json"
ENDING = ".tar.xz"

Files = Mapping[str, bytes]  # of a run, by name


def run_folders(place: Path) -> list[Path]:
    """Finished runs by their folders, sorted.

    Args:
        place: a folder of runs, of a table, scale, row or seed in it, or a pack.

    Raises:
        UserError: a pack is damaged.
    """
    whole = place.absolute()
    if whole.is_file():
        return sorted(packed_runs(whole))
    patterns = ["*/" * depth + RESULT for depth in range(5)]
    found = {path.parent for pattern in patterns for path in place.glob(pattern)}
    packs = [*whole.glob(f"*{ENDING}"), *map(pack_of, (whole, *whole.parents[:3]))]
    packed = [
        folder for pack in packs if pack.is_file() for folder in packed_runs(pack) if folder.is_relative_to(whole)
    ]
    return sorted(found | {place / folder.relative_to(whole) for folder in packed})


def run_file(run_dir: Path, name: str) -> bytes:
    """The content of a run's file.

    Raises:
        UserError: it is in a pack that is damaged.
        FileNotFoundError: there is none.
    """
    files = packed_files(run_dir)
    return files[name] if name in files else (run_dir / name).read_bytes()


def packed_files(run_dir: Path) -> Files:
    """Files of a run that is packed and has no result in its folder; none for any other.

    Raises:
        UserError: the pack is damaged.
    """
    folder = run_dir.absolute()
    if (run_dir / RESULT).exists() or len(folder.parents) < 4 or not (pack := pack_of(folder.parents[2])).is_file():
        return {}
    return packed_runs(pack).get(folder, {})


def pack_of(table_dir: Path) -> Path:
    """The pack of a table's runs, which need not be there."""
    return table_dir.parent / f"{table_dir.name}{ENDING}"


def packed_runs(pack: Path) -> Mapping[Path, Files]:
    """Runs of a pack by their folders, which lie beside it in name only.

    Raises:
        UserError: it is damaged.
    """
    found = pack.stat()
    read = partial(_unpacked, pack, found.st_mtime_ns, found.st_size)
    return read_whole(pack, read, "delete it, and pack its runs again") or {}


@lru_cache(maxsize=64)
def _unpacked(pack: Path, changed: int, size: int) -> Mapping[Path, Files]:
    with tarfile.open(pack, "r:xz") as archive:
        runs: dict[Path, dict[str, bytes]] = {}
        for member in archive:
            if content := archive.extractfile(member):
                path = pack.parent / member.name
                runs.setdefault(path.parent, {})[path.name] = content.read()
    return runs
