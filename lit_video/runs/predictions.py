"""Predictions of a run's test for every video: ``predictions.npz``.

Arrays in a run's folder: ``video``, ``logits``, ``target``, ``classes``; with several tasks ``logits/TASK`` etc. Packs
replace ``logits`` by ``predicted``, ``rank`` and ``confidence``, which suffice for tables.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.runs.files import DRAWN, MISTAKE, MISTAKES, RUN, THUMBNAILS, run_file
from lit_video.utils.files import read_whole, write_bytes
from lit_video.utils.limits import MOST_CLASSES, UNPACKED, within
from lit_video.utils.text import printable, to_text

FILE = "predictions.npz"


Logits = tuple[NDArray[np.floating], NDArray[np.integer], list[str]]  # logits, targets and class names of one task


@dataclass(frozen=True)
class TaskPredictions:
    """Predictions of one task, arrays of ``(videos,)``."""

    predicted: NDArray[np.integer]  # class of the highest logit (mean over views); on a tie the first
    rank: NDArray[np.integer]  # number of classes ranked above the true one; 0 if right
    confidence: NDArray[np.floating]  # probability of the prediction
    target: NDArray[np.integer]  # true class
    classes: list[str]  # class names

    @classmethod
    def of_logits(
        cls, logits: NDArray[np.floating], target: NDArray[np.integer], classes: list[str]
    ) -> "TaskPredictions":
        """Return the predictions from logits ``(videos, classes)``."""
        order = np.argsort(-logits, axis=1, kind="stable")
        exponentials = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
        confidence = (exponentials / exponentials.sum(1, keepdims=True)).max(1)
        return cls(order[:, 0], (order == target[:, None]).argmax(1), confidence, target, classes)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Number of videos by true class (rows) and predicted class (columns)."""
        counts = np.zeros((len(self.classes), len(self.classes)), np.int64)
        np.add.at(counts, (self.target, self.predicted), 1)
        return counts

    @property
    def videos(self) -> NDArray[np.int64]:
        """Number of test videos of each class."""
        return np.bincount(self.target, minlength=len(self.classes))

    def class_accuracy(self, top: int = 1) -> NDArray[np.float64]:
        """Return each class's top-``top`` accuracy in percent; NaN without test videos."""
        right = np.bincount(self.target[self.hits(top)], minlength=len(self.classes))
        return 100 * np.divide(right, self.videos, out=np.full(len(right), np.nan), where=self.videos > 0)

    def hits(self, top: int = 1) -> NDArray[np.bool_]:
        """Return whether each video's class is among its ``top`` predictions."""
        return self.rank < top


@dataclass(frozen=True)
class Predictions:
    """Predictions of a run's test: videos as indices in the data set, and tasks by name (``""`` for a single one)."""

    video: NDArray[np.integer]
    tasks: dict[str, TaskPredictions]

    @classmethod
    def of_logits(cls, video: NDArray[np.integer], tasks: Mapping[str, Logits]) -> "Predictions":
        """Return predictions from each task's logits, targets and names of classes."""
        return cls(video, {name: TaskPredictions.of_logits(*task) for name, task in tasks.items()})

    def hits(self, metric: str = "") -> NDArray[np.bool_]:
        """Return whether each video is right: in one task for ``test/TASK_top1``, in all tasks for any other metric."""
        task = metric.rpartition("/")[2].removesuffix("_top1")
        if task in self.tasks:
            return self.tasks[task].hits()
        return np.all([task.hits() for task in self.tasks.values()], axis=0)


def most_confused(counts: NDArray[np.int64], classes: Sequence[str], most: int) -> list[tuple[str, str, int]]:
    """Return a confusion matrix's most frequent mistakes: true class, predicted class, number of videos."""
    wrong = counts * (1 - np.eye(len(counts), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = [divmod(int(i), len(counts)) for i in order]
    return [(classes[a], classes[b], int(wrong[a, b])) for a, b in places if wrong[a, b]]


def save_logits(run_dir: Path, video: NDArray[np.integer], tasks: Mapping[str, Logits]) -> Predictions:
    """Write ``predictions.npz`` atomically; return the predictions."""
    arrays: dict[str, NDArray[Any]] = {"video": video}
    for name, (logits, target, classes) in tasks.items():
        arrays |= _named(name, logits=logits, target=target, classes=np.array(classes))
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_bytes(run_dir / FILE, packed.getvalue())
    return Predictions.of_logits(video, tasks)


def packed_predictions(predictions: Predictions) -> bytes:
    """Return a pack's ``predictions.npz``: small types, uncompressed because the pack is compressed."""
    arrays: dict[str, NDArray[Any]] = {"video": predictions.video.astype(np.int32)}
    for name, task in predictions.tasks.items():
        numbers = {key: getattr(task, key).astype(np.int16) for key in ("predicted", "rank", "target")}
        confidence = task.confidence.astype(np.float32)
        arrays |= _named(name, **numbers, confidence=confidence, classes=np.array(task.classes))
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()


def read_predictions(run_dir: Path, videos: int | None = None) -> Predictions | None:
    """Read a run's predictions, sorted by video; ``None`` without a file. Refuse a number other than ``videos``."""
    then = f"delete {RUN} beside it, the run measures again"
    return read_whole(run_dir / FILE, lambda: _predictions(run_file(run_dir, FILE), videos), then)


def read_mistakes(run_dir: Path) -> tuple[list[dict[str, str]], bytes] | None:
    """Return the surest mistakes of a run's test, with a strip of their thumbnails; ``None`` if the run kept none."""
    then = "delete it, the page is made without"

    def read() -> tuple[list[dict[str, str]], bytes]:
        rows = csv.DictReader(io.StringIO(to_text((run_dir / MISTAKES).read_bytes()), newline=""))
        shown = [{key: printable(row[key]) for key in MISTAKE} for row in islice(rows, DRAWN)]
        return shown, (run_dir / THUMBNAILS).read_bytes()

    return read_whole(run_dir / MISTAKES, read, then)


def read_logits(run_dir: Path) -> Logits:
    """Return the logits, targets and class names of a test of one task.

    Raises:
        UserError: the file is damaged.
        FileNotFoundError: the run kept no predictions.
    """
    stored = _arrays(run_file(run_dir, FILE))
    return stored["logits"], stored["target"], [str(name) for name in stored["classes"]]


def _named(task: str, **arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {f"{key}/{task}" if task else key: array for key, array in arrays.items()}


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        within("unpacked size", sum(part.file_size for part in stored.zip.infolist()), UNPACKED * len(content))
        return dict(stored)


def _predictions(content: bytes, videos: int | None) -> Predictions:
    arrays = _arrays(content)
    video, names = arrays["video"], [key.partition("/")[2] for key in arrays if key.split("/")[0] == "classes"]
    if videos not in (None, len(video)):
        raise ValueError(f"of {len(video)} videos, {RUN} of {videos}")
    if not names:
        raise ValueError("no predictions in it")
    order = np.argsort(video, kind="stable")  # processes finish in any order
    return Predictions(video[order], {name: _task(arrays, f"/{name}" if name else "", order) for name in names})


def _task(arrays: Mapping[str, NDArray[Any]], name: str, order: NDArray[np.intp]) -> TaskPredictions:
    """Return a task in the order of the videos; refuse arrays that do not fit together."""
    keys = ("logits",) if f"logits{name}" in arrays else ("predicted", "rank", "confidence")
    classes, target = [str(label) for label in arrays[f"classes{name}"]], arrays[f"target{name}"]
    of_videos = [arrays[f"{key}{name}"] for key in keys]
    within("classes", len(classes), MOST_CLASSES)
    if any(len(array) != len(order) or not np.isfinite(array).all() for array in (*of_videos, target)):
        raise ValueError(f"not a finite number for each of {len(order)} videos")
    if len(target) and not 0 <= target.min() <= target.max() < len(classes):
        raise ValueError(f"target{name}: of a class that there is not")
    if len(keys) == 1:
        return TaskPredictions.of_logits(of_videos[0][order], target[order], classes)
    predicted, rank, confidence = (array[order] for array in of_videos)
    return TaskPredictions(predicted, rank, confidence, target[order], classes)
