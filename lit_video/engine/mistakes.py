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
from lit_video.video.decoding import DecodeError, segment

FRAME_GAP = 4  # pixels between two frames of a strip
MOST_SHOWN = 8
FEWEST_SHOWN = 3


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
        name = relative(record.path, data.data_root())
        if record.end is not None:  # the times of a segment, as a W3C media fragment
            name += f"#t={record.start or 0:g},{record.end:g}"
        elif record.start is not None:
            name += f"#t={record.start:g}"

        rows.append((name, target, predicted, f"{probability[i]:.4f}", ""))
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


def _write(file: Path, rows: Sequence[Sequence[str]], strips: Sequence[Image.Image]) -> None:
    """Write a table of mistakes, and beside it a picture of their strips, one below another."""
    picture = Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT * max(1, len(strips))))
    for number, strip in enumerate(strips):
        picture.paste(strip, (0, number * STRIP_HEIGHT))
    content = io.BytesIO()
    picture.save(content, "JPEG", quality=80)

    write_table(file, [MISTAKE_COLUMNS, *rows])
    write_bytes(file.with_name(STRIPS), content.getvalue())


def film_strip(record: VideoRecord) -> Image.Image:
    """Return a strip of a video's frames, of ``STRIP_WIDTH`` by ``STRIP_HEIGHT`` pixels; grey if it is unreadable.

    The frames that fit beside each other, at least three and at most eight, are scaled to the strip's height; if not
    even three would fit, they are scaled to a third of the strip's width.
    """
    try:
        first, table = segment(record.path, record.table(), start=record.start, end=record.end)
        frames = [Image.fromarray(frame) for frame in record.decode(_evenly(first, table.count, MOST_SHOWN))]
    except DecodeError:
        return Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT), "grey")

    # the largest size with a frame's proportions that fits three times into a strip
    widest = (STRIP_WIDTH + FRAME_GAP) // FEWEST_SHOWN - FRAME_GAP
    scale = min(STRIP_HEIGHT / frames[0].height, widest / frames[0].width)
    width = max(1, round(scale * frames[0].width))
    height = max(1, round(scale * frames[0].height))
    # if a frame is enlarged, its pixels stay visible as squares, because the model sees no more
    resampling = Image.Resampling.NEAREST if width >= frames[0].width else Image.Resampling.LANCZOS

    number = min(len(frames), (STRIP_WIDTH + FRAME_GAP) // (width + FRAME_GAP))
    shown = [frames[i] for i in _evenly(0, len(frames), number)]

    strip = Image.new("RGB", (STRIP_WIDTH, STRIP_HEIGHT), "black")
    taken = number * width + (number - 1) * FRAME_GAP
    for i, frame in enumerate(shown):
        left = (STRIP_WIDTH - taken) // 2 + i * (width + FRAME_GAP)
        strip.paste(frame.resize((width, height), resampling), (left, (STRIP_HEIGHT - height) // 2))
    return strip


def _evenly(first: int, count: int, number: int) -> list[int]:
    """Return ``number`` of ``count`` numbers, evenly from the first to the last; all of them if they are fewer."""
    number = min(number, count)
    if number == 1:
        return [first + count // 2]
    return [first + round(i * (count - 1) / (number - 1)) for i in range(number)]
