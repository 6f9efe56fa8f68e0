"""Keeps the predictions of a test in the run's folder, with accuracy per class, a confusion matrix."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from lit_video.datamodules import VideoDataModule
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import average_precision
from lit_video.runs.files import MISTAKES
from lit_video.runs.predictions import Predictions, TaskPredictions, save_logits
from lit_video.tables.statistics import calibration_error
from lit_video.training.mistakes import write_mistakes
from lit_video.utils.files import write_bytes, write_table


class SavePredictions(Callback):
    """Writes predictions, accuracy by class, mistakes, a confusion matrix of a run's first test into its folder.

    Each of several tasks has its own figures, with its name in the file's. Of further tests of a run, with the frames
    in other orders, nothing is written. With several labels per video only ``classes.csv``, with each class's average
    precision, is written: no class is confused with another.
    """

    def __init__(self, run_dir: Path, title: str) -> None:
        self.run_dir = run_dir
        self.title = title
        self.predictions: Predictions | None = None
        self.tested = False

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather every process's share; the first one writes."""
        data = trainer.datamodule  # type: ignore[attr-defined]
        assert isinstance(pl_module, VideoClassifier)
        assert isinstance(data, VideoDataModule)
        first, self.tested = not self.tested, True
        accuracy = pl_module.test_accuracy
        with accuracy.sync_context():
            video, outputs = accuracy.videos(), accuracy.per_task()
        if not trainer.is_global_zero or not len(video) or (pl_module.several_labels and not first):
            return
        if not all(logits.isfinite().all() for logits, _ in outputs.values()):
            return  # the run fails, and draws nothing
        if pl_module.several_labels:
            each = precision_rows(data.class_names, *outputs[""])
            return write_table(self.run_dir / "classes.csv", [("class", "videos", "average_precision"), *each])
        names = data.class_names if isinstance(data.class_names, dict) else {"": data.class_names}
        tasks = {
            task: (logits.cpu().numpy(), target.cpu().numpy(), names[task])
            for task, (logits, target) in outputs.items()
        }
        self.predictions = Predictions.of_logits(video.cpu().numpy(), tasks)
        if not first:
            return
        save_logits(self.run_dir, self.predictions.video, tasks)
        write_mistakes(self.run_dir / MISTAKES, self.predictions, data)
        rows = [row for name, task in self.predictions.tasks.items() for row in class_rows(name, task)]
        write_table(self.run_dir / "classes.csv", [("task", "class", "videos", "top1", "top5"), *rows])
        self._draw(self.predictions)

    @property
    def calibration_error(self) -> dict[str, float]:
        """``test/calibration_error`` in percent, of every task."""
        tasks = self.predictions.tasks.items() if self.predictions else ()
        errors = {f"{name}_" if name else "": calibration_error(task.confidence, task.hits()) for name, task in tasks}
        return {f"test/{name}calibration_error": error for name, error in errors.items()}

    def group_accuracy(self, groups: Mapping[str, list[int]]) -> dict[str, float]:
        """Return ``test/NAME``, the last test's top-1 in percent over videos of each group of one task's classes."""
        if not self.predictions or not groups:
            return {}
        task = self.predictions.tasks[""]
        return {f"test/{name}": task.top1_of(classes) for name, classes in groups.items() if task.videos[classes].any()}

    def _draw(self, predictions: Predictions) -> None:
        """Draw confusion matrices; print a line if they cannot be drawn, for the result counts."""
        try:
            from lit_video.inference.result_pictures import confusion_figure
            from lit_video.utils.figures import content_of

            for name, task in predictions.tasks.items():
                title = f"{self.title}, {name}" if name else self.title
                side = min(max(0.3 * len(task.classes), 3.0), 9.0)
                figure = confusion_figure(task.confusion, task.classes, title, side)
                path = self.run_dir / (f"confusion_{name}.png" if name else "confusion.png")
                write_bytes(path, content_of(figure, bbox_inches="tight"))
        except (ImportError, ValueError) as error:
            print(f"{self.run_dir}: the confusion matrix is not drawn: {error}", flush=True)


def class_rows(name: str, task: TaskPredictions) -> list[tuple[str, str, int, str, str]]:
    """Task, class, videos, top-1 and top-5 in percent of every class that has videos."""
    each = zip(task.classes, task.videos, task.class_accuracy(), task.class_accuracy(5), strict=True)
    return [(name, label, int(n), f"{top1:.2f}", f"{top5:.2f}") for label, n, top1, top5 in each if n]


def precision_rows(names: Any, logits: Tensor, target: Tensor) -> list[tuple[str, int, str]]:
    """Class, videos and average precision in percent of every class that has videos; several labels per video."""
    each = zip(names, target.sum(0).tolist(), average_precision(logits, target).tolist(), strict=True)
    return [(name, count, f"{100 * value:.2f}") for name, count, value in each if count]
