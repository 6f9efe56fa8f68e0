"""Predictions of a run's test, and what they say by class: files of the run."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray
from torch import Tensor

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.split_test import SplitTest, test_of
from lit_video.engine.mistakes import write_mistakes
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import VideoAccuracy, VideoPrecision, average_precision
from lit_video.runs.mistakes import (
    MISTAKES,
)
from lit_video.runs.predictions import (
    BOTH,
    DIRECTION,
    RECOGNISED,
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
from lit_video.utils.files import write_bytes, write_table
from lit_video.utils.splits import Split

_logger = logging.getLogger(__name__)


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
