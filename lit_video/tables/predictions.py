"""Predictions of a test for every video: ``predictions.npz`` in a run's folder. Imports no torch.

Of one task it holds ``logits``, ``target`` and ``classes``; of several ``logits/verb``, ... ; and ``video``.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.errors import UserError
from lit_video.tables.array_headers import Declared, declared_arrays
from lit_video.utils.files import write_bytes

FILE = "predictions.npz"
# what reading a damaged zip, or array, raises
DAMAGE: tuple[type[Exception], ...] = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    OverflowError,
    RuntimeError,
    MemoryError,
)
DAMAGE = (*DAMAGE, struct.error, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class TaskPredictions:
    """One task's logits ``(videos, classes)``, the mean over views; targets ``(videos,)``; names of the classes."""

    logits: NDArray[np.float32]
    target: NDArray[np.int64]
    classes: list[str]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Softmax of the logits."""
        exponentials = np.exp(self.logits.astype(np.float64) - self.logits.max(1, keepdims=True))
        return exponentials / exponentials.sum(1, keepdims=True)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Videos by class (rows) and by what they were taken for (columns)."""
        counts = np.zeros((len(self.classes), len(self.classes)), np.int64)
        np.add.at(counts, (self.target, self.logits.argmax(1)), 1)
        return counts

    def hits(self, top: int = 1) -> NDArray[np.bool_]:
        """Whether each video's class is among its ``top`` predictions; of equal logits the first class comes first."""
        order = np.argsort(-self.logits, axis=1, kind="stable")[:, :top]
        return (order == self.target[:, None]).any(1)

    def top1_of(self, classes: Sequence[int]) -> float:
        """Top-1 in percent over the videos of some classes."""
        return 100 * float(self.hits()[np.isin(self.target, classes)].mean())


@dataclass(frozen=True)
class Predictions:
    """Predictions of a run's test: the videos' numbers in the data set, and each task; a single one is named ``""``."""

    video: NDArray[np.int64]
    tasks: dict[str, TaskPredictions]

    def hits(self, metric: str = "") -> NDArray[np.bool_]:
        """Whether each video is right in what a metric counts: ``test/TASK_top1`` one task, any other all of them."""
        task = metric.rpartition("/")[2].removesuffix("_top1")
        if task in self.tasks:
            return self.tasks[task].hits()
        return np.all([task.hits() for task in self.tasks.values()], axis=0)


def most_confused(counts: NDArray[np.int64], classes: Sequence[str], most: int) -> list[tuple[str, str, int]]:
    """The most frequent mistakes of a confusion matrix: class, what it was taken for, and how many videos were."""
    wrong = counts * (1 - np.eye(len(counts), dtype=np.int64))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = [divmod(int(i), len(counts)) for i in order]
    return [(classes[a], classes[b], int(wrong[a, b])) for a, b in places if wrong[a, b]]


def save_predictions(run_dir: Path, predictions: Predictions) -> None:
    """Write ``predictions.npz``, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {"video": predictions.video}
    for name, task in predictions.tasks.items():
        for key, value in (("logits", task.logits), ("target", task.target), ("classes", np.array(task.classes))):
            arrays[f"{key}/{name}" if name else key] = value
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    write_bytes(run_dir / FILE, packed.getvalue())


def read_predictions(run_dir: Path, videos: int | None = None) -> Predictions | None:
    """The predictions of a run's test; ``None`` for a run that kept none.

    The arrays' headers are checked first: nothing is unpacked of a file that declares what cannot be.

    Args:
        run_dir: the run's folder.
        videos: that its result was measured on.

    Raises:
        UserError: the file is damaged, is no such file, or is of another number of videos.
    """
    path = run_dir / FILE
    try:
        names = _tasks(declared_arrays(path), videos)
        with np.load(path, allow_pickle=False) as stored:
            arrays = dict(stored)
        return Predictions(arrays["video"], {name: _task(arrays, f"/{name}" if name else "") for name in names})
    except FileNotFoundError:
        return None
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:100]
        raise UserError(f"{path}: damaged ({reason}); delete result.json beside it and run the row again") from None


def _tasks(declared: Mapping[str, Declared], videos: int | None) -> list[str]:
    """Names of the tasks; a ``ValueError`` if the arrays do not fit together."""
    names = [key.partition("/")[2] for key in declared if key.split("/")[0] == "logits"]
    if not names or "video" not in declared:
        raise ValueError("no predictions in it")
    count = declared["video"].shape if videos is None else (videos,)
    _expect(declared, "video", count, "iu")
    for suffix in [f"/{name}" if name else "" for name in names]:
        classes = declared.get(f"classes{suffix}", declared["video"]).shape
        _expect(declared, f"logits{suffix}", (*count, *classes), "f")
        _expect(declared, f"target{suffix}", count, "iu")
        _expect(declared, f"classes{suffix}", classes[:1], "U")
    return names


def _expect(declared: Mapping[str, Declared], key: str, shape: tuple[int, ...], kinds: str) -> None:
    found = declared.get(key)
    if found is None:
        raise ValueError(f"it has no {key}")
    if found.shape != shape or found.dtype.kind not in kinds:
        raise ValueError(f"{key}: {found.dtype} of shape {found.shape}, expected {shape}")


def _task(arrays: Mapping[str, NDArray[Any]], name: str) -> TaskPredictions:
    logits, target, classes = (arrays[f"{key}{name}"] for key in ("logits", "target", "classes"))
    if not np.isfinite(logits).all():
        raise ValueError(f"logits{name}: not all are finite")
    if len(target) and not 0 <= target.min() <= target.max() < len(classes):
        raise ValueError(f"target{name}: of a class that there is not")
    return TaskPredictions(logits, target, [str(label) for label in classes])
