"""Files of runs, in a folder each or packed: ``RUNS/TABLE.tar.xz`` holds the folders of a table's runs.

A run is named by its folder ``RUNS/TABLE/SCALE/ROW/seedK`` wherever it lies; readers take that name. A folder with a
result goes before the pack beside it.

``run.json`` is a run's record: its ``state`` until it is finished; its ``identity`` and the ``changes`` of that; its
``result``, which is written last.
"""

import json
import tarfile
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from lit_video.utils.files import read_whole, write_atomically

RUN = "run.json"
ENDING = ".tar.xz"
AGAIN = "delete it, the run measures again"

Files = Mapping[str, bytes]  # of a run, by name


def run_folders(place: Path) -> list[Path]:
    """Finished runs by their folders, sorted, of a folder of runs, of a table, scale, row or seed in it, or of a pack.

    Raises:
        UserError: a pack is damaged.
    """
    whole = place.absolute()
    if whole.is_file():
        return sorted(packed_runs(whole))
    patterns = ["*/" * depth + RUN for depth in range(5)]
    found = {path.parent for pattern in patterns for path in place.glob(pattern) if has_result(path.parent)}
    packs = [*whole.glob(f"*{ENDING}"), *map(pack_of, (whole, *whole.parents[:3]))]
    packed = [
        folder for pack in packs if pack.is_file() for folder in packed_runs(pack) if folder.is_relative_to(whole)
    ]
    return sorted(found | {place / folder.relative_to(whole) for folder in packed})


def read_run(run_dir: Path) -> dict[str, Any]:
    """The record of a run; empty where there is none.

    Raises:
        UserError: it is damaged.
    """
    return read_whole(run_dir / RUN, lambda: dict(json.loads(run_file(run_dir, RUN))), AGAIN) or {}


def update_run(run_dir: Path, **parts: Any) -> None:
    """Write parts of a run's record in place of those before, whole or not at all; ``None`` takes a part out.

    Raises:
        UserError: what is there is damaged.
    """
    content = {name: part for name, part in (read_run(run_dir) | parts).items() if part is not None}
    write_atomically(run_dir / RUN, json.dumps(content, indent=2, allow_nan=False) + "\n")


def has_result(run_dir: Path) -> bool:
    """Whether a folder's run is finished; its record may be damaged."""
    try:
        content = json.loads((run_dir / RUN).read_bytes())
    except FileNotFoundError:
        return False
    except Exception:  # a damaged file can raise anything
        return True
    return not isinstance(content, dict) or "result" in content


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
    if len(folder.parents) < 4 or not (pack := pack_of(folder.parents[2])).is_file() or has_result(run_dir):
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
