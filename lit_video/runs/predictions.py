"""Predictions of a run's test for every video, ``predictions.npz``, and its most confident mistakes.

The arrays are ``video``, ``logits``, ``target`` and ``classes``; with several tasks ``logits/TASK`` and so on. Where
classes come in pairs that differ in direction alone, ``opposite`` has each class's partner. In packs ``predicted``,
``rank``, ``confidence`` and, beside ``opposite``, ``pair`` replace ``logits``; tables need no more. ``draw`` numbers
the independent draws among the videos, and ``draw_kind`` is a noun for one, such as person; neither is stored if each
video is a draw of its own.

Tests with the frames in another order, and tests of some training videos and of fresh ones, have a file each, such as
``predictions_reversed.npz`` and ``predictions_train.npz``, in the form of packs; so has a linear head on single frames,
``predictions_one_frame.npz``.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lit_video.runs.folder import RUN, run_file
from lit_video.runs.record import RunResult
from lit_video.utils.files import MOST_BYTES, MOST_CLASSES, UNPACKED, read_regular, read_whole, within, write_bytes
from lit_video.utils.text import printable, to_text

FILE = "predictions.npz"
ORDERS = ("reversed", "shuffled", "static")  # orders of a clip's frames for further tests, see data.test_orders
ONE_FRAME = "one_frame"  # a linear head on one frame's features, see lit_video.training.measure
OF_SAME_VIDEOS = (*ORDERS, ONE_FRAME)  # further tests of the test's videos
# tests of a run after the first, each with predictions of its own; train, fresh: of these splits
FURTHER_TESTS = ("train", "fresh", *OF_SAME_VIDEOS)
TOP1 = "test/video_top1"
DIRECTION = "test/direction"  # accuracy of the direction if the skill is known: the larger of the skill's two logits
BOTH = "test/both_directions"  # share of the films that are right in their direction, forwards and in their reverse
RECOGNISED = "test/recognised"  # accuracy of the skill, in either direction
ROUNDED = 1e-4  # points by which a result's accuracy may differ, because it is a mean in float32
Logits = tuple[NDArray[np.floating], NDArray[np.integer], list[str]]  # logits, targets and class names of one task
MISTAKES = "mistakes.csv"
STRIPS = "mistakes.jpg"
MISTAKE_COLUMNS = ("file", "true", "predicted", "probability", "fold")
STRIP_WIDTH = 480  # pixels of a strip: some frames of a video, side by side
STRIP_HEIGHT = 90
MOST_STRIPS = 12  # most videos with a strip; the strips are below each other in one picture
LEAVES_OUT = "delete it; the page then leaves the mistakes out"


@dataclass(frozen=True)
class TaskPredictions:
    """Predictions of one task, arrays of ``(videos,)``."""

    predicted: NDArray[np.integer]  # class of the highest logit (mean over views); on a tie the first
    rank: NDArray[np.integer]  # number of classes ranked above the true one; 0 if right
    confidence: NDArray[np.floating]  # probability of the prediction
    target: NDArray[np.integer]  # true class
    classes: list[str]  # class names
    # number of the class of the opposite direction for each class, (classes,); None if they have no directions
    opposite: NDArray[np.integer] | None = None
    pair: NDArray[np.floating] | None = None  # logits of the true class and of its opposite, (videos, 2)

    @classmethod
    def of_logits(
        cls,
        logits: NDArray[np.floating],
        target: NDArray[np.integer],
        classes: list[str],
        *,
        opposite: NDArray[np.integer] | None = None,
    ) -> Self:
        """Return the predictions from logits ``(videos, classes)``."""
        order = np.argsort(-logits, axis=1, kind="stable")
        rank = (order == target[:, None]).argmax(1)

        exponentials = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
        confidence = (exponentials / exponentials.sum(1, keepdims=True)).max(1)

        pair = None
        if opposite is not None:
            pair = np.take_along_axis(logits, np.stack((target, opposite[target]), axis=1), axis=1)
        return cls(
            predicted=order[:, 0],
            rank=rank,
            confidence=confidence,
            target=target,
            classes=classes,
            opposite=opposite,
            pair=pair,
        )

    def of(self, videos: NDArray[np.integer]) -> "TaskPredictions":
        """Return the predictions of some videos, by their indices."""
        return replace(
            self,
            predicted=self.predicted[videos],
            rank=self.rank[videos],
            confidence=self.confidence[videos],
            target=self.target[videos],
            pair=None if self.pair is None else self.pair[videos],
        )

    @property
    def direction(self) -> NDArray[np.bool_] | None:
        """Whether the true class has a higher logit than its opposite; on a tie the first of the two classes wins."""
        if self.opposite is None or self.pair is None:
            return None
        higher = self.pair[:, 0] > self.pair[:, 1]
        tied = self.pair[:, 0] == self.pair[:, 1]
        return higher | (tied & (self.target < self.opposite[self.target]))

    @property
    def recognised(self) -> NDArray[np.bool_] | None:
        """Whether the predicted class is the true one or its opposite."""
        if self.opposite is None:
            return None
        return (self.predicted == self.target) | (self.predicted == self.opposite[self.target])

    @property
    def skill(self) -> NDArray[np.str_] | None:
        """Name of each video's skill, see :attr:`opposites`: ``(videos,)``."""
        if self.opposite is None:
            return None
        names = np.empty(len(self.classes), object)
        for name, pair in self.opposites.items():
            names[[*pair]] = name
        return names.astype(str)[self.target]

    @property
    def opposites(self) -> dict[str, tuple[int, int]]:
        """The two classes of each skill, by its name; empty if classes have no directions.

        A skill is named by the words that its two classes begin with and no other class does, as few as possible:
        ``duration`` for ``duration long first`` and ``duration long last``.
        """
        if self.opposite is None:
            return {}
        pairs = sorted({(min(pair), max(pair)) for pair in enumerate(map(int, self.opposite))})
        return {self._shared_words(pair): pair for pair in pairs}

    def _shared_words(self, pair: tuple[int, int]) -> str:
        """Return the fewest words that two classes begin with and no other class does; refuse classes without any."""
        words = [name.split() for name in self.classes]
        first, second = (words[number] for number in pair)
        for count in range(1, len(first) + 1):
            start = first[:count]
            if second[:count] == start and sum(others[:count] == start for others in words) == 2:
                return " ".join(start)
        names = " and ".join(repr(self.classes[number]) for number in pair)
        raise ValueError(f"classes {names} have no name of a skill: words that both begin with, and no other class")

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
class Draws:
    """Independent draws of a test: videos of one person or recording, or a video and its reverse, are one draw."""

    kind: str  # noun for a draw, such as person
    number: NDArray[np.integer]  # draw of each video, numbered from 0

    @classmethod
    def of_names(cls, kind: str, names: Sequence[str]) -> Self:
        """Return the draws of videos from a name for each video, numbered in the sorted order of the names."""
        return cls(kind, np.unique(np.array(names, np.str_), return_inverse=True)[1])

    @property
    def count(self) -> int:
        """Number of draws."""
        return len(np.unique(self.number))

    def of(self, videos: NDArray[np.integer]) -> "Draws":
        """Return the draws of some videos, by their indices."""
        return Draws(self.kind, self.number[videos])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Draws) and self.kind == other.kind and np.array_equal(self.number, other.number)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


@dataclass(frozen=True)
class Predictions:
    """Predictions of a run's test: videos by their index in the data set, tasks by name (``""`` for a single task)."""

    video: NDArray[np.integer]
    tasks: dict[str, TaskPredictions]
    draws: Draws | None = None  # left out if they are unknown, or if each video is a draw of its own

    @classmethod
    def of_logits(
        cls,
        video: NDArray[np.integer],
        tasks: Mapping[str, Logits],
        *,
        opposite: NDArray[np.integer] | None = None,
        draws: Draws | None = None,
    ) -> Self:
        """Return predictions from each task's logits, targets and names of classes."""
        by_name = {}
        for name, (logits, target, classes) in tasks.items():
            by_name[name] = TaskPredictions.of_logits(logits, target, classes, opposite=opposite)
        return cls(video, by_name, draws)

    def of(self, videos: NDArray[np.integer]) -> "Predictions":
        """Return the predictions of some videos, given by their numbers in the data set, in this order."""
        order = np.argsort(self.video)
        indices = order[np.searchsorted(self.video, videos, sorter=order)]
        tasks = {name: task.of(indices) for name, task in self.tasks.items()}
        return Predictions(self.video[indices], tasks, self.draws.of(indices) if self.draws else None)

    @property
    def has_directions(self) -> bool:
        """Whether classes come in pairs that differ in direction alone."""
        return all(task.direction is not None for task in self.tasks.values())

    @property
    def both_directions(self) -> NDArray[np.bool_] | None:
        """Whether a film and its reverse are both right in their direction: ``(films,)``.

        ``None`` unless each draw of the test is a film and its reverse.
        """
        (task, *others) = self.tasks.values()
        direction = task.direction
        if direction is None or others or self.draws is None or task.opposite is None:
            return None
        if (np.unique(self.draws.number, return_counts=True)[1] != 2).any():
            return None
        films = np.argsort(self.draws.number, kind="stable").reshape(-1, 2)
        forwards, backwards = task.target[films].T
        if (task.opposite[forwards] != backwards).any():
            return None
        return np.all(direction[films], axis=1)

    def hits(self, metric: str = "") -> NDArray[np.bool_]:
        """Return whether each video is right.

        For ``test/direction`` in its direction, for ``test/TASK_top1`` in one task, for any other metric in all tasks.
        """
        if metric == DIRECTION:
            directions = [task.direction for task in self.tasks.values() if task.direction is not None]
            return np.all(directions, axis=0)
        task = metric.rpartition("/")[2].removesuffix("_top1")
        if task in self.tasks:
            return self.tasks[task].hits()
        return np.all([task.hits() for task in self.tasks.values()], axis=0)


def most_confused(counts: NDArray[np.int64], classes: Sequence[str], most: int) -> list[tuple[str, str, int]]:
    """Return a confusion matrix's most frequent mistakes: true class, predicted class, number of videos."""
    wrong = counts * (1 - np.eye(len(counts), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    cells = [divmod(cell, len(counts)) for cell in order.tolist()]
    return [(classes[a], classes[b], int(wrong[a, b])) for a, b in cells if wrong[a, b]]


def save_logits(
    run_dir: Path,
    video: NDArray[np.integer],
    tasks: Mapping[str, Logits],
    *,
    opposite: NDArray[np.integer] | None = None,
    draws: Draws | None = None,
) -> Predictions:
    """Write ``predictions.npz`` atomically; return the predictions.

    ``opposite`` gives for each class the number of the class of the opposite direction; only for a single task.
    """
    arrays: dict[str, dict[str, Any]] = {}
    for name, (logits, target, classes) in tasks.items():
        arrays[name] = {"logits": logits, "target": target, "classes": classes}
        if opposite is not None:
            arrays[name]["opposite"] = opposite

    write_bytes(run_dir / FILE, _npz(np.savez_compressed, _of_videos(video, draws), arrays))
    return Predictions.of_logits(video, tasks, opposite=opposite, draws=draws)


def packed_predictions(predictions: Predictions) -> bytes:
    """Return ``predictions.npz`` for a pack, with small types; it is uncompressed because the pack is compressed."""
    tasks: dict[str, dict[str, Any]] = {}
    for name, task in predictions.tasks.items():
        numbers = {key: getattr(task, key).astype(np.int16) for key in ("predicted", "rank", "target")}
        tasks[name] = {**numbers, "confidence": task.confidence.astype(np.float32), "classes": task.classes}
        if task.opposite is not None and task.pair is not None:
            tasks[name] |= {"opposite": task.opposite.astype(np.int16), "pair": task.pair.astype(np.float32)}
    return _npz(np.savez, _of_videos(predictions.video, predictions.draws), tasks)


def _of_videos(video: NDArray[np.integer], draws: Draws | None) -> dict[str, NDArray[Any]]:
    """Return the arrays that concern videos and no task."""
    arrays: dict[str, NDArray[Any]] = {"video": video.astype(np.int32)}
    if draws:
        arrays["draw"] = draws.number.astype(np.int32)
        arrays["draw_kind"] = np.array(draws.kind)
    return arrays


def _npz(
    write: Callable[..., None], of_videos: Mapping[str, NDArray[Any]], tasks: Mapping[str, Mapping[str, Any]]
) -> bytes:
    arrays = dict(of_videos)
    content = io.BytesIO()
    for name, task in tasks.items():
        for key, array in task.items():
            arrays[f"{key}/{name}".removesuffix("/")] = np.asarray(array)
    write(content, allow_pickle=False, **arrays)
    return content.getvalue()


def file_of_further(test: str) -> str:
    """Return the name of the file with the predictions of one of ``FURTHER_TESTS``."""
    return f"predictions_{test}.npz"


def read_predictions(run_dir: Path, result: RunResult | None = None) -> Predictions | None:
    """Read a run's predictions, ``None`` without a file; refuse those of another test than the one in ``result``."""
    then = f"delete {RUN} beside it and repeat the command"
    return read_whole(run_dir / FILE, lambda: _predictions(run_file(run_dir, FILE), result), then)


def read_further(run_dir: Path, result: RunResult, test: str) -> Predictions | None:
    """Read the predictions of one of ``FURTHER_TESTS``, such as that with ``reversed`` frames.

    Returns:
        The predictions; ``None`` if the result has no such test, or its predictions were not kept.

    Raises:
        UserError: the predictions are damaged, or are those of another test than the result's.
    """
    metric = f"{test}/video_top1"
    if metric not in result.metrics:  # a file from an earlier test may be there
        return None
    name = file_of_further(test)
    then = f"delete {RUN} beside it and repeat the command"
    return read_whole(run_dir / name, lambda: _predictions(run_file(run_dir, name), result, metric), then)


def read_logits(run_dir: Path) -> Logits:
    """Return the logits of a single task's test; raise FileNotFoundError without a file."""
    stored = _arrays(run_file(run_dir, FILE))
    return stored["logits"], stored["target"], list(map(str, stored["classes"]))


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        within("unpacked size", sum(part.file_size for part in stored.zip.infolist()), UNPACKED * len(content))
        return dict(stored)


def _predictions(content: bytes, result: RunResult | None, metric: str = TOP1) -> Predictions:
    """Read predictions, sorted by video; refuse those whose accuracy is not the result's ``metric``."""
    by_task: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in _arrays(content).items():
        name, _, task = key.partition("/")
        by_task.setdefault(task, {})[name] = array

    of_videos = by_task[""]
    video = of_videos.pop("video")
    draw = of_videos.pop("draw", None)
    kind = of_videos.pop("draw_kind", None)
    if result and metric == TOP1 and result.test_videos != len(video):
        raise ValueError(f"holds {len(video)} videos, but {RUN} says {result.test_videos}")

    order = np.argsort(video, kind="stable")  # processes finish in any order
    tasks = {task: _task(arrays, order) for task, arrays in by_task.items() if arrays}
    if not tasks:
        raise ValueError("no predictions in it")

    draws = None
    if draw is not None:
        if draw.shape != video.shape or draw.dtype.kind != "i":
            raise ValueError(f"draw: not a number for each of {len(video)} videos")
        draws = Draws(str(kind), draw[order])

    predictions = Predictions(video[order], tasks, draws)
    top1 = 100 * float(predictions.hits().mean())
    recorded = result.metrics.get(metric) if result else None
    if recorded is not None and abs(top1 - recorded) > ROUNDED:
        raise ValueError(f"its top-1 is {top1:.2f}, but {RUN} says {recorded:.2f}")
    return predictions


def _task(arrays: Mapping[str, NDArray[Any]], order: NDArray[np.intp]) -> TaskPredictions:
    """Return a task's predictions, sorted by video; refuse arrays that do not fit together."""
    classes = [str(name) for name in arrays["classes"]]
    within("classes", len(classes), MOST_CLASSES)

    of_videos = {}
    for key in arrays.keys() - {"classes", "opposite"}:
        if len(arrays[key]) != len(order) or not np.isfinite(arrays[key]).all():
            raise ValueError(f"{key}: not a finite number for each of {len(order)} videos")
        of_videos[key] = arrays[key][order]

    target = of_videos["target"]
    if len(target) and not 0 <= target.min() <= target.max() < len(classes):
        raise ValueError("target: names a class that does not exist")

    opposite = arrays.get("opposite")
    if opposite is not None:
        numbers = np.arange(len(classes))
        is_paired = len(opposite) == len(classes) and np.isin(opposite, numbers).all()
        if not is_paired or (opposite[opposite] != numbers).any():
            raise ValueError("opposite: classes are not in pairs")

    if "logits" in of_videos:
        return TaskPredictions.of_logits(of_videos["logits"], target, classes, opposite=opposite)
    return TaskPredictions(**of_videos, classes=classes, opposite=opposite)


def read_mistakes(run_dir: Path) -> tuple[list[dict[str, str]], bytes] | None:
    """Return a run's most confident mistakes in its test, with a picture of strips; ``None`` if it kept none."""

    def read() -> list[dict[str, str]]:
        text = to_text(read_regular(run_dir / MISTAKES, MOST_BYTES))
        mistakes = []
        for row in islice(csv.DictReader(io.StringIO(text, newline="")), MOST_STRIPS):
            texts = {key: printable(row[key]) for key in MISTAKE_COLUMNS}
            probability = f"{100 * float(row['probability']):.0f} %"
            mistakes.append(texts | {"probability": probability})
        return mistakes

    rows = read_whole(run_dir / MISTAKES, read, LEAVES_OUT)
    strips = read_whole(run_dir / STRIPS, lambda: read_regular(run_dir / STRIPS, MOST_BYTES), LEAVES_OUT)
    return None if rows is None or strips is None else (rows, strips)
