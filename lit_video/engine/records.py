"""Files that a run keeps of its training and test: learning curve, predictions, accuracy by class, mistakes."""

import csv
import io
import logging
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import relative
from lit_video.engine.checkpoints import metrics_of
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import average_precision
from lit_video.runs.curves import write_curves
from lit_video.runs.mistakes import (
    MISTAKE_COLUMNS,
    MISTAKES,
    MOST_THUMBNAILS,
    THUMBNAIL_HEIGHT,
    THUMBNAIL_WIDTH,
    THUMBNAILS,
)
from lit_video.runs.predictions import DIRECTION, RECOGNISED, Predictions, TaskPredictions, save_logits
from lit_video.tables.statistics import calibration_error
from lit_video.utils.classes import by_task
from lit_video.utils.files import read_regular, write_bytes, write_table
from lit_video.utils.limits import MOST_BYTES
from lit_video.utils.text import to_text
from lit_video.video.clips import VideoRecord
from lit_video.video.decoding import DecodeError, segment

_logger = logging.getLogger(__name__)


class Curve(Callback):
    """Learning curve, written to ``curves.csv`` after every epoch and kept in checkpoints.

    The training loss is the mean over processes and over the epoch's optimizer steps, without steps skipped for a
    non-finite loss (``--nan skip:N``). Training accuracy is measured on the augmented clips.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.points: list[dict[str, float]] = []
        self._reset()

    def state_dict(self) -> dict[str, Any]:
        """Return the points, and the sums of an unfinished epoch."""
        return {
            "points": list(self.points),
            "steps": int(self.steps),
            "validation": dict(self.validation),
            "total": float(self.total),
            "hits": self.hits.tolist(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the points and the sums."""
        self.points = list(state_dict["points"])
        self.validation = dict(state_dict["validation"])
        self.total = torch.tensor(state_dict["total"])
        self.steps = torch.tensor(state_dict["steps"])
        self.hits = torch.tensor(state_dict["hits"], dtype=torch.float64)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Sum the losses on the device; copying each to the CPU would make every step wait."""
        assert isinstance(pl_module, VideoClassifier)
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        loss = pl_module.step_loss
        self.total = self.total.to(loss.device) + loss.nan_to_num(0.0, 0.0, 0.0)
        self.steps = self.steps + loss.isfinite()
        self.hits = self.hits.to(loss.device) + pl_module.step_hits

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Store the metrics of this epoch's validation; Lightning's copy stays in epochs without one."""
        self.validation = metrics_of(trainer, "val/")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Add the epoch's point after its validation, if any."""
        point = {
            "epoch": trainer.current_epoch + 1,
            "step": trainer.global_step,
            "train/loss": float(self.total) / max(int(self.steps), 1),
            **self.validation,
        }
        right, readable = self.hits.tolist()
        if readable:
            point["train/clip_top1"] = 100 * right / readable

        self.points.append(point)
        self._reset()
        if trainer.is_global_zero:
            write_curves(self.run_dir, self.points)

    def _reset(self) -> None:
        """Begin the sums of an epoch."""
        self.total = torch.tensor(0.0)
        self.steps = torch.tensor(0)
        self.validation = dict[str, float]()
        self.hits = torch.zeros(2, dtype=torch.float64)  # numbers of right and of readable clips


class SavePredictions(Callback):
    """Files of a run's first test: predictions, accuracy by class, mistakes, confusion matrix.

    With several tasks, each task has a figure, named after the task. Further tests, on training videos or with the
    frames in other orders, write nothing. With several labels per video only ``classes.csv`` is written, with average
    precisions.
    """

    def __init__(self, run_dir: Path, title: str) -> None:
        self.run_dir = run_dir
        self.title = title
        self.predictions: Predictions | None = None
        self.tested = False

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather the predictions of all processes; rank 0 writes."""
        data = trainer.datamodule  # type: ignore[attr-defined]
        assert isinstance(pl_module, VideoClassifier)
        assert isinstance(data, VideoDataModule)
        if data.tested == "train":  # the test's predictions are kept, even if there is no test video
            return
        is_first = not self.tested
        self.tested = True

        accuracy = pl_module.test_accuracy
        with accuracy.sync_context():
            video = accuracy.videos()
            outputs = accuracy.per_task()
        if not trainer.is_global_zero or not len(video):
            return
        if not all(logits.isfinite().all() for logits, _ in outputs.values()):
            return  # refuse_not_finite ends the run

        if not pl_module.several_labels:
            self._keep(video, outputs, data, is_first=is_first)
        elif is_first:
            rows = precision_rows(data.class_names, *outputs[""])
            write_table(self.run_dir / "classes.csv", [("class", "videos", "average_precision"), *rows])

    def _keep(
        self, video: Tensor, outputs: Mapping[str, tuple[Tensor, Tensor]], data: VideoDataModule, *, is_first: bool
    ) -> None:
        """Keep the predictions of a test, by task logits and targets; write the files of the first test."""
        names = by_task(data.class_names)
        tasks = {}
        for task, (logits, target) in outputs.items():
            tasks[task] = (logits.cpu().numpy(), target.cpu().numpy(), names[task])
        number = video.cpu().numpy()
        opposite = opposite_classes(data.opposites)
        if not is_first:
            self.predictions = Predictions.of_logits(number, tasks, opposite=opposite)
            return

        draws = data.draws("test")
        draws = draws and draws.of(number)
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
        and ``test/direction`` are over all videos, ``test/direction/NAME`` over those of a skill.
        """
        if not self.predictions or "" not in self.predictions.tasks:
            return {}
        task = self.predictions.tasks[""]

        parts = {}
        for name, classes in data.class_groups.items():
            parts[f"test/{name}"] = task.hits()[np.isin(task.target, classes)]

        for metric, hits in ((RECOGNISED, task.recognised), (DIRECTION, task.direction)):
            if hits is None:
                continue
            parts[metric] = hits
            for name, pair in data.opposites.items():
                parts[f"{metric}/{name}"] = hits[np.isin(task.target, pair)]

        return {name: 100 * float(hits.mean()) for name, hits in parts.items() if len(hits)}

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
