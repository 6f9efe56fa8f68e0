"""Most confident mistakes of a test, with thumbnails of the videos."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import relative
from lit_video.runs.mistakes import (
    MISTAKE_COLUMNS,
    MISTAKES,
    MOST_THUMBNAILS,
    THUMBNAIL_HEIGHT,
    THUMBNAIL_WIDTH,
    THUMBNAILS,
)
from lit_video.runs.predictions import Predictions
from lit_video.utils.files import read_regular, write_bytes, write_table
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import to_text
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment


def write_mistakes(file: Path, predictions: Predictions, data: VideoDataModule) -> None:
    """Write the mistakes of a test, most confident first, with paths relative to the data set's folder."""
    tasks = predictions.tasks.values()
    probability = np.prod([task.confidence for task in tasks], axis=0)
    wrong = sorted(np.flatnonzero(~predictions.hits()), key=lambda i: -probability[i])

    records = data.records("test")
    mistaken = [records[int(predictions.video[i])] for i in wrong]
    rows = []
    for i, record in zip(wrong, mistaken, strict=True):
        target = ", ".join(task.classes[task.target[i]] for task in tasks)
        predicted = ", ".join(task.classes[task.predicted[i]] for task in tasks)
        rows.append((_name(record, data.data_root()), target, predicted, f"{probability[i]:.4f}", ""))
    _write(file, rows, [_thumbnail(record) for record in mistaken[:MOST_THUMBNAILS]])


def join_mistakes(run_dir: Path, folds: Mapping[str, Path]) -> None:
    """Write the mistakes of all folds into the run trained on all videos; ``folds`` are run folders by name."""
    joined: list[tuple[list[str], Image.Image | None]] = []
    for fold, folder in folds.items():
        text = to_text((folder / MISTAKES).read_bytes())
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        with Image.open(io.BytesIO(read_regular(folder / THUMBNAILS, MOST_BYTES)), formats=("JPEG",)) as strip:
            tiles = [
                strip.crop((0, top, strip.width, top + THUMBNAIL_HEIGHT))
                for top in range(0, strip.height, THUMBNAIL_HEIGHT)
            ]
        # a strip has thumbnails of the first mistakes only, and one of none if there are no mistakes
        joined += zip_longest([[*row[:-1], fold] for row in rows], tiles[: len(rows)])

    joined.sort(key=lambda mistake: -float(mistake[0][3]))
    rows = [row for row, _ in joined]
    tiles = [tile for _, tile in joined[:MOST_THUMBNAILS] if tile]
    _write(run_dir / MISTAKES, rows, tiles)


def _name(record: VideoRecord, root: Path) -> str:
    """Return a video's relative path; a segment's times follow as a W3C media fragment: ``video.mp4#t=1.5,3``."""
    name = relative(record.path, root)
    if record.end is not None:
        return f"{name}#t={record.start or 0:g},{record.end:g}"
    return name if record.start is None else f"{name}#t={record.start:g}"


def _thumbnail(record: VideoRecord) -> Image.Image:
    """Return a thumbnail of the middle frame; grey if unreadable."""
    tile = Image.new("RGB", (THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT), "grey")
    try:
        first, table = segment(record.path, record.table(), start=record.start, end=record.end)
        picture = Image.fromarray(record.decode([first + table.count // 2])[0])
    except DecodeError:
        return tile
    picture.thumbnail(tile.size)
    tile.paste(picture, ((THUMBNAIL_WIDTH - picture.width) // 2, (THUMBNAIL_HEIGHT - picture.height) // 2))
    return tile


def _write(file: Path, rows: Sequence[Sequence[str]], tiles: Sequence[Image.Image]) -> None:
    """Write a table of mistakes, and beside it a vertical strip of their thumbnails."""
    strip = Image.new("RGB", (THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT * max(1, len(tiles))))
    for number, tile in enumerate(tiles):
        strip.paste(tile, (0, number * THUMBNAIL_HEIGHT))
    content = io.BytesIO()
    strip.save(content, "JPEG", quality=80)

    write_table(file, [MISTAKE_COLUMNS, *rows])
    write_bytes(file.with_name(THUMBNAILS), content.getvalue())
