"""Packs of runs: one archive per table with the files that tables, statistics and reports need."""

import io
import json
import lzma
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lit_video.errors import UserError
from lit_video.runs.curves import CURVES
from lit_video.runs.folder import RUN, read_run, run_file, run_folders
from lit_video.runs.packs import Files, largest, pack_of, packed_runs
from lit_video.runs.predictions import FILE, packed_predictions, read_predictions
from lit_video.runs.result import read_result
from lit_video.settings.effects import data_names
from lit_video.utils.files import read_whole, write_bytes

OF_THE_FOLDER = ("state", "asked")  # parts of a record that a pack leaves out


def pack_runs(places: Sequence[Path], output: Path) -> dict[Path, int]:
    """Add finished runs to their tables' packs, replacing runs of the same name; return the number of runs per pack.

    Equal runs make bit-identical packs. Logits, pictures and checkpoints are left out; absolute folders of videos
    become DIR, as in recorded commands.
    """
    named: dict[tuple[str, ...], Path] = {}
    for place in places:
        for folder in map(Path.absolute, run_folders(place)):
            if (other := named.setdefault(folder.parts[-4:], folder)) != folder:
                raise UserError(f"{folder}: {other} has the same table, scale, row and seed; give only one of the two")
    if not named:
        raise UserError(f"{', '.join(map(str, places))}: no finished run below")
    output.mkdir(parents=True, exist_ok=True)
    packs: dict[Path, dict[Path, Files]] = {}
    for name, folder in named.items():
        path = pack_of(output.absolute() / name[0])
        runs = packs.setdefault(path, {})
        if not runs and path.is_file():
            runs |= packed_runs(path)
        runs[path.parent.joinpath(*name)] = _files(folder)
    for path, runs in packs.items():
        write_pack(path, runs)
    return {path: len(runs) for path, runs in packs.items()}


def write_pack(path: Path, runs: Mapping[Path, Files]) -> None:
    """Write the files of a table's runs, by folder, as a pack; equal files make bit-identical packs."""
    content = _archive(path.parent, runs)
    size = len(lzma.decompress(content))
    if size > largest(len(content)):
        times = f"{size:,} bytes in {len(content):,}"
        raise UserError(f"{path}: its runs are {times}, more than `table` unpacks from others; pack fewer of them")
    write_bytes(path, content)


def packed_record(record: Mapping[str, Any]) -> bytes:
    """Return a run's record as packs hold it."""
    return f"{json.dumps(record, indent=1)}\n".encode()


def _files(run_dir: Path) -> Files:
    result, record = read_result(run_dir) or {}, read_run(run_dir)
    for part in OF_THE_FOLDER:
        record.pop(part, None)
    settings = record.get("identity", {}).get("settings", {}).get("data", {}).get("init_args", {})
    for name in data_names("folders"):
        if Path(settings.get(name) or "").is_absolute():
            settings[name] = "DIR"
    files = {RUN: packed_record(record)}
    curve = read_whole(run_dir / CURVES, lambda: run_file(run_dir, CURVES), "delete it; the pack leaves it out")
    if curve:
        files[CURVES] = curve
    predictions = read_predictions(run_dir, result)
    if predictions:
        files[FILE] = packed_predictions(predictions)
    return files


def _archive(folder: Path, runs: Mapping[Path, Files]) -> bytes:
    """Return a tar.xz of runs below a folder, without dates and owners, sorted by file name to compress better."""
    members = []
    for run, files in runs.items():
        for name, content in files.items():
            members.append((name, str(run.relative_to(folder) / name), content))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as archive:
        for _, path, content in sorted(members):
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()
