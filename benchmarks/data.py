"""Measure CPU time per clip of our decoder, PyTorchVideo and torchcodec, after comparing their pixels.

    python -m benchmarks.data ROOT                       # a folder of videos, made if it does not exist
    OMP_NUM_THREADS=1 python -m benchmarks.data ROOT --videos 2 --clips 6 -o data.json

Clips have 8 frames. A library whose pixels differ from those of the whole video decoded in order is not timed. The
presets of ``data prepare`` are measured too: time per clip, bytes, and PSNR.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import torch
from torch.utils.data import default_collate

from benchmarks.clip_decoders import PLAIN, SIDE, STOCK, Clip, ClipDecoder, clip_decoders, cut, ours, wrong
from benchmarks.harness import Measurement, Result, Row, Table, Times, number, parser, ran, rounds
from benchmarks.sample_videos import KINDS, make_videos
from lit_video.datamodules.preparation import PRESETS, reencode, resized
from lit_video.errors import UserError
from lit_video.utils.files import is_video
from lit_video.video.augmentation import TrainingView
from lit_video.video.decoding import decode_in_order, frame_table

SAMPLINGS = ("stride 8", "stride 32", "whole")
BATCH = 4
EVERY = 10  # PSNR compares every tenth frame
T = TypeVar("T")


def video_groups(root: Path, each: int) -> dict[str, list[Path]]:
    """Return at most ``each`` videos per kind if the folder is one of ours, else ``each`` videos in one group."""
    files = sorted(path for path in root.rglob("[!.]*") if is_video(path))
    kinds = {kind.name: [path for path in files if path.parent == root / kind.name] for kind in KINDS}
    groups = kinds if any(kinds.values()) else {root.resolve().name: random.Random(0).sample(files, len(files))}
    if not files:
        raise UserError(f"{root}: no video in this folder; one that does not exist is made")
    return {name: paths[:each] for name, paths in groups.items() if paths}


def in_turn(inputs: Sequence[T], actions: dict[str, Callable[[T], object]]) -> Times:
    """Return the CPU seconds (all threads) of every action on every input; an input is a round."""
    left = list(inputs)
    bound = {name: (lambda action=action: action(left[0])) for name, action in actions.items()}
    times: Times = {}
    for times in rounds(bound, len(inputs), torch.device("cpu"), first=1, clock=time.process_time):  # noqa: B007
        left.pop(0)
    return times


def readers(paths: list[Path], clips: int) -> Iterator[Row]:
    """Yield a row per sampling and library: median seconds of a clip, and the speed relative to stock."""

    def read(library: ClipDecoder, clip: Clip) -> None:
        library.transform(library.decode(clip))

    for sampling in SAMPLINGS:
        draw = random.Random(0)
        chosen = [cut(path, sampling, draw.random()) for path in paths for _ in range(clips)]
        libraries = {library.name: library for library in clip_decoders()}
        errors = {name: wrong(library, chosen) for name, library in libraries.items()}
        right = {name: partial(read, library) for name, library in libraries.items() if not errors[name]}
        times = in_turn(chosen, right) if right else {}
        for name, error in errors.items():
            row: Row = {"sampling": sampling, "library": name} | ({"left_out": f"failed: {error}"} if error else {})
            if name in times:
                row["seconds"] = median(times[name])
            if name in times and STOCK in times:
                row["ratio"] = median(b / a for a, b in zip(times[name], times[STOCK], strict=True))
            yield row


def presets(paths: list[Path], clips: int) -> Iterator[Row]:
    """Yield a row per preset: seconds of a training clip (view, collating) on one core, bytes, PSNR."""
    view, draw = TrainingView(PLAIN, SIDE), random.Random(0)
    shares = [(i, draw.random()) for i in range(len(paths)) for _ in range(clips)]

    def read(kept: list[Path], share: tuple[int, float]) -> None:
        default_collate([view(ours(cut(kept[share[0]], "stride 8", share[1])))])

    with TemporaryDirectory() as folder:
        kept = {"source": paths}
        for name, encoding in PRESETS.items():
            kept[name] = [Path(folder) / name / f"{i}.mp4" for i in range(len(paths))]
            for source, target in zip(paths, kept[name], strict=True):
                reencode(source, target, encoding)
        times = in_turn(shares, {name: partial(read, files) for name, files in kept.items()})
        for name, files in kept.items():
            size = sum(file.stat().st_size for file in files) / sum(path.stat().st_size for path in paths)
            loss = None if name == "source" else psnr(paths, files, PRESETS[name].short_side)
            yield {"format": name, "clip_seconds": median(times[name]), "size_ratio": size, "psnr": loss}


def psnr(sources: list[Path], targets: list[Path], short_side: int) -> float:
    """Return the peak signal-to-noise ratio in dB of all colours against the resized sources."""
    errors = []
    for source, target in zip(sources, targets, strict=True):
        expected = (frame.to_ndarray(format="rgb24") for frame in resized(source, short_side))
        actual = decode_in_order(target, range(frame_table(target).count))
        pairs = [pair for i, pair in enumerate(zip(actual, expected, strict=True)) if i % EVERY == 0]
        errors += [np.mean((a.astype(np.float64) - b) ** 2) for a, b in pairs]
    return 10 * float(np.log10(255**2 / np.mean(errors)))


def tables(result: Result) -> Iterator[Table]:
    """Yield the table of libraries, then that of the presets of ``data prepare``."""
    libraries, rows = list(dict.fromkeys(row["library"] for row in result["rows"])), dict[str, dict[str, Row]]()
    for row in result["rows"]:
        rows.setdefault(f"{row['videos']}, {row['sampling']}", {})[row["library"]] = row
    body = [[name, *(_ms_and_ratio(row.get(library, {})) for library in libraries)] for name, row in rows.items()]
    title = f"CPU ms per clip, decoding and transforms (x: how much faster than PyTorchVideo), {result['device']}"
    notes = [f"{row['library']}: {row['left_out']}" for row in result["rows"] if "left_out" in row]
    yield Table(title, ["videos, clips", *libraries], body, notes)
    if formats := result.get("formats"):
        header = ["videos", "kept as", "CPU ms = cores for 1,000 clips/s", "of the source's", "bytes", "PSNR, dB"]
        body = [_format_row(row, formats) for row in formats]
        title = "Videos as data prepare keeps them: clips 8 frames apart, view and collating; PSNR against the source"
        yield Table(title, header, body, [])


def _format_row(row: Row, formats: Sequence[Row]) -> list[str]:
    source = next(each for each in formats if (each["videos"], each["format"]) == (row["videos"], "source"))
    return [
        row["videos"],
        row["format"],
        number(row, "clip_seconds", ".1f", 1e-3),
        f"{row['clip_seconds'] / source['clip_seconds']:.2f} x",
        f"{row['size_ratio']:.2f} x",
        number(row, "psnr", ".1f"),
    ]


def _ms_and_ratio(row: Row) -> str:
    ratio = number(row, "ratio", ".2f")
    return f"{number(row, 'seconds', '.1f', 1e-3)} ({ratio} x)" if ratio else number(row, "seconds", ".1f", 1e-3)


def main() -> int:
    """Measure all parts; return 1 if a library failed or gave wrong pixels."""
    made = parser("data", __doc__)
    made.add_argument("root", type=Path, metavar="ROOT", help="folder of videos; made if it does not exist")
    made.add_argument("--videos", type=int, default=4, help="of each kind (default 4)")
    made.add_argument("--clips", type=int, default=4, help="of each video (default 4)")
    given = made.parse_args()
    if not given.root.exists():
        make_videos(given.root, given.videos)
    torch.set_num_threads(1)
    given.device = "cpu"
    measurement = Measurement("data", given)
    measurement.result |= {"root": given.root.name, "formats": []}
    for name, paths in video_groups(given.root, given.videos).items():
        parts = {"formats": presets(paths, given.clips), "rows": readers(paths, given.clips)}
        for part, row in ((part, row) for part, rows in parts.items() for row in rows):
            measurement.result[part].append({"videos": name} | row)
            measurement.keep()
    return measurement.show(tables)


if __name__ == "__main__":
    ran(main)
