"""Mistakes of a test: every video by its file in ``mistakes.csv``, the surest ones as thumbnails beside it."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import relative
from lit_video.runs.files import DRAWN, HEIGHT, MISTAKE, MISTAKES, THUMBNAILS, WIDTH
from lit_video.runs.predictions import Predictions
from lit_video.utils.files import write_bytes, write_table
from lit_video.utils.text import to_text
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment


def write_mistakes(file: Path, predictions: Predictions, data: VideoDataModule) -> None:
    """Write the mistakes of a test, the surest first, by files as seen from the data set's folder."""
    tasks, records = predictions.tasks.values(), data.records("test")
    probability = np.prod([task.confidence for task in tasks], axis=0)
    wrong = sorted(np.flatnonzero(~predictions.hits()), key=lambda i: -probability[i])
    listed = [records[int(predictions.video[i])] for i in wrong]
    rows = [
        (
            _name(record, data.data_root()),
            ", ".join(task.classes[task.target[i]] for task in tasks),
            ", ".join(task.classes[task.predicted[i]] for task in tasks),
            f"{probability[i]:.4f}",
            "",
        )
        for i, record in zip(wrong, listed, strict=True)
    ]
    _write(file, rows, [_thumbnail(record) for record in listed[:DRAWN]])


def join_mistakes(run_dir: Path, folds: Mapping[str, Path]) -> None:
    """Write the mistakes of all folds' tests, by the folders of their runs, into the run that trained on all videos."""
    joined: list[tuple[list[str], Image.Image | None]] = []
    for fold, folder in folds.items():
        _, *rows = csv.reader(io.StringIO(to_text((folder / MISTAKES).read_bytes()), newline=""))
        with Image.open(folder / THUMBNAILS) as strip:
            tiles = [strip.crop((0, top, strip.width, top + HEIGHT)) for top in range(0, strip.height, HEIGHT)]
        joined += zip_longest([[*row[:-1], fold] for row in rows], tiles[: len(rows)])
    joined.sort(key=lambda each: -float(each[0][3]))
    _write(run_dir / MISTAKES, [row for row, _ in joined], [tile for _, tile in joined[:DRAWN] if tile])


def _name(record: VideoRecord, root: Path) -> str:
    """Name the file; a part of it as a media fragment (W3C): ``video.mp4#t=1.5,3``."""
    times = [record.start or 0, *([] if record.end is None else [record.end])]
    part = "" if record.start is None and record.end is None else f"#t={','.join(f'{t:g}' for t in times)}"
    return relative(record.path, root) + part


def _thumbnail(record: VideoRecord) -> Image.Image:
    """Return the frame in the middle."""
    tile = Image.new("RGB", (WIDTH, HEIGHT), "grey")
    try:
        first, table = segment(record.path, record.table(), record.start, record.end)
        picture = Image.fromarray(record.decode([first + table.count // 2])[0])
    except DecodeError:
        return tile
    picture.thumbnail(tile.size)
    tile.paste(picture, ((WIDTH - picture.width) // 2, (HEIGHT - picture.height) // 2))
    return tile


def _write(file: Path, rows: Sequence[Sequence[str]], tiles: Sequence[Image.Image]) -> None:
    strip, content = Image.new("RGB", (WIDTH, HEIGHT * max(1, len(tiles)))), io.BytesIO()
    for number, tile in enumerate(tiles):
        strip.paste(tile, (0, number * HEIGHT))
    strip.save(content, "JPEG", quality=80)
    write_table(file, [MISTAKE, *rows])
    write_bytes(file.with_name(THUMBNAILS), content.getvalue())
