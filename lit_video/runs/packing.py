"""Packs of runs: one archive per table with the files that tables, statistics and reports need."""

import io
import json
import lzma
import tarfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain
from pathlib import Path

from msgspec import structs

from lit_video.errors import UserError
from lit_video.runs.folder import CURVES, RUN, curves_and_file, read_finished, read_record, run_folders
from lit_video.runs.packs import PackedFiles, most_unpacked, pack_of, packed_runs
from lit_video.runs.predictions import (
    FILE,
    FURTHER_TESTS,
    file_of_further,
    packed_predictions,
    read_further,
    read_predictions,
)
from lit_video.runs.record import Record
from lit_video.settings.effects import data_names
from lit_video.utils.files import write_bytes


def pack_runs(places: Sequence[Path], output: Path) -> dict[Path, int]:
    """Add finished runs to their tables' packs, replacing runs of the same name; return the number of runs per pack.

    Equal runs make bit-identical packs. Logits, pictures and checkpoints are left out; absolute folders of videos
    become DIR, as in recorded commands.
    """
    folders: dict[tuple[str, ...], Path] = {}  # by table, scale, row and seed
    for run_dir in chain.from_iterable(map(run_folders, places)):
        folder = run_dir.absolute()
        other = folders.setdefault(folder.parts[-4:], folder)
        if other != folder:
            raise UserError(f"{folder}: {other} has the same table, scale, row and seed; give only one of the two")
    if not folders:
        raise UserError(f"{', '.join(map(str, places))}: no finished run below")

    output.mkdir(parents=True, exist_ok=True)
    packs: dict[Path, dict[Path, PackedFiles]] = {}
    for name, folder in folders.items():
        path = pack_of(output.absolute() / name[0])
        runs = packs.setdefault(path, {})
        if not runs and path.is_file():
            runs |= packed_runs(path)
        runs[path.parent.joinpath(*name)] = _files(folder)

    for path, runs in packs.items():
        write_pack(path, runs)
    return {path: len(runs) for path, runs in packs.items()}


def write_pack(path: Path, runs: Mapping[Path, PackedFiles]) -> None:
    """Write the files of a table's runs, by folder, as a pack; equal files make bit-identical packs."""
    members = []
    for run, files in runs.items():
        for name, file in files.items():
            members.append((name, str(run.relative_to(path.parent) / name), file))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as archive:
        for _, place, file in sorted(members):  # without dates and owners; by name, to compress better
            member = tarfile.TarInfo(place)
            member.size = len(file)
            archive.addfile(member, io.BytesIO(file))

    content = packed.getvalue()
    size = len(lzma.decompress(content))
    if size > most_unpacked(len(content)):
        times = f"{size:,} bytes in {len(content):,}"
        raise UserError(f"{path}: its runs are {times}, more than `table` unpacks from others; pack fewer of them")
    write_bytes(path, content)


def packed_record(record: Record) -> bytes:
    """Return a run's record as it is in packs: without its state."""
    content = record.with_parts(state=None).plain()
    return f"{json.dumps(content, indent=1)}\n".encode()


def _files(run_dir: Path) -> PackedFiles:
    record = read_record(run_dir)
    if record.identity:  # absolute folders of videos become DIR
        settings = deepcopy(record.identity.settings)
        arguments = settings.get("data", {}).get("init_args", {})
        for name in data_names("folders"):
            if Path(arguments.get(name) or "").is_absolute():
                arguments[name] = "DIR"
        record = record.with_parts(identity=structs.replace(record.identity, settings=settings))

    run = read_finished(run_dir)
    files = {RUN: packed_record(record)}
    points, content = curves_and_file(run_dir)
    if points:
        files[CURVES] = content
    predictions = read_predictions(run_dir, run.result if run else None)
    if predictions:
        files[FILE] = packed_predictions(predictions)
    for order in FURTHER_TESTS:
        of_order = read_further(run_dir, run.result, order) if run else None
        if of_order:
            files[file_of_further(order)] = packed_predictions(of_order)
    return files
