"""Predictions of a run's test, what they say by class, and its most confident mistakes: files of the run."""

import csv
import io
import logging
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import relative
from lit_video.datamodules.split_test import SplitTest, test_of
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import VideoAccuracy, VideoPrecision, average_precision
from lit_video.runs.predictions import (
    BOTH,
    DIRECTION,
    MISTAKE_COLUMNS,
    MISTAKES,
    MOST_STRIPS,
    RECOGNISED,
    STRIP_HEIGHT,
    STRIP_WIDTH,
    STRIPS,
    Draws,
    Logits,
    Predictions,
    TaskPredictions,
    file_of_further,
    packed_predictions,
    save_logits,
)
from lit_video.tables.statistics import calibration_error
from lit_video.utils.classes import by_task
from lit_video.utils.files import MOST_BYTES, read_regular, write_bytes, write_table
from lit_video.utils.splits import Split
from lit_video.utils.text import to_text
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment

FRAME_GAP = 4  # pixels between two frames of a strip
MOST_SHOWN = 8
FEWEST_SHOWN = 3
_logger = logging.getLogger(__name__)


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
    # pixels of an enlarged frame stay visible as squares, because the model sees no more
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


class SavePredictions(Callback):
    """Files of a run's first test: predictions, accuracy by class, mistakes, confusion matrix.

    With several tasks, each task has a figure, named after the task. A further test, of another split or with frames in
    another order, writes its predictions alone. With several labels per video only ``classes.csv`` is written, with
    average precisions.
    """

    def __init__(self, run_dir: Path, title: str) -> None:
        self.run_dir = run_dir
        self.title = title
        self.predictions: Predictions | None = None
        self.tested = False

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather the predictions of all processes; rank 0 writes."""
        test = test_of(trainer.datamodule)  # type: ignore[attr-defined]
        assert isinstance(pl_module, VideoClassifier)
        assert test is not None
        self.predictions = None
        is_first = test.split == "test" and not self.tested
        self.tested = self.tested or is_first

        accuracy = pl_module.test_accuracy
        with accuracy.sync_context():
            video = accuracy.videos()
            outputs = accuracy.per_task()
        if not trainer.is_global_zero or not len(video):
            return
        if not all(logits.isfinite().all() for logits, _ in outputs.values()):
            return  # refuse_not_finite ends the run

        if not pl_module.several_labels:
            self._keep(video, outputs, test, is_first=is_first)
        elif is_first:
            rows = precision_rows(test.data.class_names, *outputs[""])
            write_table(self.run_dir / "classes.csv", [("class", "videos", "average_precision"), *rows])

    def _keep(
        self, video: Tensor, outputs: Mapping[str, tuple[Tensor, Tensor]], test: SplitTest, *, is_first: bool
    ) -> None:
        """Keep the predictions of a test, by task logits and targets; write the files of the first test."""
        data = test.data
        tasks = named_outputs(outputs, data)
        number = video.cpu().numpy()
        opposite = opposite_classes(data.opposites)
        draws = None
        if is_first or test.split not in ("train", "test"):  # further tests of the same videos have the same draws
            draws = data.draws(test.split)
            draws = draws and draws.of(number)
        if not is_first:
            self.predictions = Predictions.of_logits(number, tasks, opposite=opposite, draws=draws)
            write_bytes(self.run_dir / file_of_further(test.key), packed_predictions(self.predictions))
            return

        self.predictions = save_logits(self.run_dir, number, tasks, opposite=opposite, draws=draws)
        write_mistakes(self.run_dir / MISTAKES, self.predictions, data)
        rows: list[tuple[object, ...]] = [("task", "class", "videos", "top1", "top5")]
        for name, predicted in self.predictions.tasks.items():
            rows += class_rows(name, predicted)
        write_table(self.run_dir / "classes.csv", rows)
        self._draw(self.predictions)

    @property
    def calibration_error(self) -> dict[str, float]:
        """Calibration error of every task in percent, as ``test/calibration_error``."""
        errors = {}
        if self.predictions:
            for name, task in self.predictions.tasks.items():
                key = "_".join(filter(None, (name, "calibration_error")))
                errors[f"test/{key}"] = calibration_error(task.confidence, task.hits())
        return errors

    def accuracies(self, data: VideoDataModule) -> dict[str, float]:
        """Return the last test's accuracies over parts of the videos, in percent (single task only).

        ``test/NAME`` is the top-1 in a group of classes. Where classes differ in direction alone, ``test/recognised``
        and ``test/direction`` are over all videos, ``test/direction/NAME`` over those of a skill. If the test has each
        film and its reverse, ``test/both_directions`` is the share of films of which both are right.
        """
        if not self.predictions or "" not in self.predictions.tasks:
            return {}
        task = self.predictions.tasks[""]

        parts = {}
        for name, classes in data.class_groups.items():
            parts[f"test/{name}"] = task.hits()[np.isin(task.target, classes)]
        parts |= by_skill(RECOGNISED, task.recognised, task, data)
        parts |= by_skill(DIRECTION, task.direction, task, data)
        both = self.predictions.both_directions
        if both is not None:
            parts[BOTH] = both
        return in_percent(parts)

    def _draw(self, predictions: Predictions) -> None:
        """Draw the confusion matrices; if that fails, only print a line."""
        try:
            from lit_video.inference.result_pictures import confusion_figure
            from lit_video.utils.figures import content_of

            for name, task in predictions.tasks.items():
                title = ", ".join(filter(None, (self.title, name)))
                side = min(max(0.3 * len(task.classes), 3.0), 9.0)
                figure = confusion_figure(task.confusion, task.classes, title, side=side)
                stem = "_".join(filter(None, ("confusion", name)))
                write_bytes(self.run_dir / f"{stem}.png", content_of(figure, bbox_inches="tight"))
        except (ImportError, ValueError) as error:
            _logger.info(f"{self.run_dir}: the confusion matrix is not drawn: {error}")


def by_skill(
    metric: str, hits: NDArray[np.bool_] | None, task: TaskPredictions, data: VideoDataModule
) -> dict[str, NDArray[np.bool_]]:
    """Return the hits of a metric over all videos, and over those of each skill; empty without opposite classes."""
    if hits is None:
        return {}
    of_skills = {f"{metric}/{name}": hits[np.isin(task.target, pair)] for name, pair in data.opposites.items()}
    return {metric: hits} | of_skills


def in_percent(parts: Mapping[str, NDArray[np.bool_]]) -> dict[str, float]:
    """Return the share of hits of each part that has videos, in percent."""
    return {name: 100 * float(hits.mean()) for name, hits in parts.items() if len(hits)}


def directions(predictions: Predictions | None, data: VideoDataModule, split: Split) -> dict[str, float]:
    """Return the directions right in a split in percent, ``SPLIT/direction``, and by skill ``SPLIT/direction/NAME``."""
    if predictions is None or "" not in predictions.tasks:
        return {}
    task = predictions.tasks[""]
    return in_percent(by_skill(f"{split}/direction", task.direction, task, data))


def evaluated_predictions(
    accuracy: VideoAccuracy, data: VideoDataModule, draws: Draws | None = None
) -> Predictions | None:
    """Return the predictions in a metric, of all processes; ``None`` without any, or with several labels.

    ``draws`` are those of all videos of the split.
    """
    if isinstance(accuracy, VideoPrecision) or not accuracy.update_called:
        return None

    with accuracy.sync_context():
        number = accuracy.videos().cpu().numpy()
        outputs = accuracy.per_task()
    if not len(number):
        return None

    return Predictions.of_logits(
        number,
        named_outputs(outputs, data),
        opposite=opposite_classes(data.opposites),
        draws=draws and draws.of(number),
    )


def named_outputs(outputs: Mapping[str, tuple[Tensor, Tensor]], data: VideoDataModule) -> dict[str, Logits]:
    """Return logits and targets of every task as arrays, with the names of its classes."""
    names = by_task(data.class_names)
    tasks = {}
    for task, (logits, target) in outputs.items():
        tasks[task] = (logits.cpu().numpy(), target.cpu().numpy(), names[task])
    return tasks


def opposite_classes(opposites: Mapping[str, tuple[int, int]]) -> NDArray[np.integer] | None:
    """Return the opposite of every class, ``(classes,)``, from the pairs of all skills; ``None`` without pairs."""
    if not opposites:
        return None
    opposite = np.zeros(2 * len(opposites), np.int64)
    for backward, forward in opposites.values():
        opposite[backward] = forward
        opposite[forward] = backward
    return opposite


def class_rows(name: str, task: TaskPredictions) -> list[tuple[str, str, int, str, str]]:
    """Return a row per class with videos: task, class, number of videos, top-1 and top-5 in percent."""
    rows = []
    numbers = zip(task.classes, task.videos, task.class_accuracy(), task.class_accuracy(5), strict=True)
    for label, videos, top1, top5 in numbers:
        if videos:
            rows.append((name, label, int(videos), f"{top1:.2f}", f"{top5:.2f}"))
    return rows


def precision_rows(names: Any, logits: Tensor, target: Tensor) -> list[tuple[str, int, str]]:
    """Return a row per class with videos: class, number of videos, average precision in percent (several labels)."""
    rows = []
    counts = target.sum(0).tolist()
    precisions = average_precision(logits, target).tolist()
    for name, count, precision in zip(names, counts, precisions, strict=True):
        if count:
            rows.append((name, count, f"{100 * precision:.2f}"))
    return rows
