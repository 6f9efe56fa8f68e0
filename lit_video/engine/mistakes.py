"""Most confident mistakes of a test, with a strip of frames of each video."""

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np
from PIL import Image

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import relative
from lit_video.engine.film_strip import film_strip
from lit_video.runs.mistakes import (
    MISTAKE_COLUMNS,
    MISTAKES,
    MOST_STRIPS,
    STRIP_HEIGHT,
    STRIP_WIDTH,
    STRIPS,
)
from lit_video.runs.predictions import Predictions
from lit_video.utils.files import read_regular, write_bytes, write_table
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import to_text
from lit_video.video.clips import VideoRecord


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
    _write(file, rows, [film_strip(record) for record in mistaken[:MOST_STRIPS]])


def join_mistakes(run_dir: Path, folds: Mapping[str, Path]) -> None:
    """Write the mistakes of all folds into the run trained on all videos; ``folds`` are run folders by name."""
    joined: list[tuple[list[str], Image.Image | None]] = []
    for fold, folder in folds.items():
        text = to_text((folder / MISTAKES).read_bytes())
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        with Image.open(io.BytesIO(read_regular(folder / STRIPS, MOST_BYTES)), formats=("JPEG",)) as picture:
            strips = [
                picture.crop((0, top, picture.width, top + STRIP_HEIGHT))
                for top in range(0, picture.height, STRIP_HEIGHT)
            ]
        # a picture has strips of the first mistakes only, and an empty one if there are no mistakes
        joined += zip_longest([[*row[:-1], fold] for row in rows], strips[: len(rows)])

    joined.sort(key=lambda mistake: -float(mistake[0][3]))
    rows = [row for row, _ in joined]
    strips = [strip for _, strip in joined[:MOST_STRIPS] if strip]
    _write(run_dir / MISTAKES, rows, strips)


def _name(record: VideoRecord, root: Path) -> str:
    """Return a video's relative path; a segment's times follow as a W3C media fragment: ``video.mp4#t=1.5,3``."""
    name = relative(record.path, root)
    if record.end is not None:
        return f"{name}#t={record.start or 0:g},{record.end:g}"
    return name if record.start is None else f"{name}#t={record.start:g}"


def _write(file: Path, rows: Sequence[Sequence[str]], strips: Sequence[Image.Image]) -> None:
    """Write a table of mistakes, and beside it a picture of their strips, one below another."""
    picture = Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT * max(1, len(strips))))
    for number, strip in enumerate(strips):
        picture.paste(strip, (0, number * STRIP_HEIGHT))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=80)

    write_table(file, [MISTAKE_COLUMNS, *rows])
    write_bytes(file.with_name(STRIPS), content.getvalue())
