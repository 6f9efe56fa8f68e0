"""Cross-validation: the model trained on all videos gets its accuracy and temperature from the tests of the folds."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from lit_video.datamodules.inspection import open_dataset
from lit_video.engine.checkpoints import peek, write_checkpoint
from lit_video.engine.predictions import join_mistakes
from lit_video.errors import UserError
from lit_video.modules.metrics import informative
from lit_video.runs.folder import read_curves, read_record, update_record
from lit_video.runs.predictions import (
    OF_SAME_VIDEOS,
    Draws,
    Logits,
    Predictions,
    TaskPredictions,
    file_of_further,
    packed_predictions,
    read_further,
    read_logits,
    read_predictions,
    save_logits,
)
from lit_video.runs.record import Identity, RunResult
from lit_video.settings.effects import picked
from lit_video.tables.finishing import TRAINED
from lit_video.tables.statistics import calibration_error
from lit_video.utils.files import write_bytes
from lit_video.weights.reading import CHECKPOINT_KEY

# bounds of a temperature, which are needed because the best one is 0 if all predictions are right
_LEAST = 0.2
_MOST = 20.0


def take_tests(run_dir: Path, folds: Mapping[str, Path]) -> None:
    """Write the test results of ``folds`` (run folders by name) into the finished run trained on all videos.

    ``run.json`` gets the accuracy over all folds and, in ``folds``, of each fold. The checkpoint gets the temperature
    fitted to all logits. For the stored logits and the calibration error, each fold's logits are divided by a
    temperature fitted to the other folds, so that no video chooses its own.
    """
    result = result_of(run_dir)
    of_folds = [result_of(folder) for folder in folds.values()]

    read = {name: read_logits(folder) for name, folder in folds.items()}
    cooled = []
    for name in read:
        others = [tested for other, tested in read.items() if other != name]
        cooled.append(read[name][0] / temperature(*_joined(others)))

    logits, target = _joined(list(read.values()))
    (classes,) = {tuple(tested[2]) for tested in read.values()}
    tasks = {"": (np.concatenate(cooled), target, [*classes])}
    predicted = save_logits(run_dir, np.arange(len(target)), tasks, draws=draws_of_folds([*folds.values()]))
    join_mistakes(run_dir, folds)

    fitted = temperature(logits, target)
    task = predicted.tasks[""]
    metrics = {f"test/video_top{k}": 100 * float(task.hits(k).mean()) for k in informative(len(classes))}
    metrics["test/calibration_error"] = calibration_error(task.confidence, task.hits())
    metrics |= picked(result.metrics, [TRAINED])  # measured on the model trained on all videos
    metrics |= _take_orders(run_dir, folds)

    path = run_dir / result.weights.file
    content = peek(path)
    if content[CHECKPOINT_KEY].get("temperature") != fitted:
        content[CHECKPOINT_KEY]["temperature"] = fitted
        write_checkpoint(content, path)

    tested = structs.replace(
        result,
        metrics=metrics,
        test_videos=len(target),
        test_seen=sum(fold.test_seen or 0 for fold in of_folds),
        test_left_out=sum(fold.test_left_out or 0 for fold in of_folds),
        temperature=fitted,
        folds={name: 100 * float((x.argmax(1) == y).mean()) for name, (x, y, _) in read.items()},
    )
    update_record(run_dir, result=tested)


def right_videos(runs: Sequence[Path]) -> dict[str, list[float]]:
    """Return by fold the numbers of right and of tested videos; of a single run those of its validation, as ``val``.

    Of several runs the first is the one that was trained on all videos. Empty without such videos.
    """
    run, *folds = runs
    right: dict[str, list[float]] = {}
    for fold in folds:
        tested = read_predictions(fold)
        if tested is not None:
            right[fold.parent.name] = [int(tested.hits().sum()), len(tested.video)]
    if folds:
        return right

    result = result_of(run)
    for point in read_curves(run):
        if point["step"] == result.weights.step and "val/clip_top1" in point:
            videos = result.video_counts["val"].used
            right["val"] = [point["val/clip_top1"] / 100 * videos, videos]
    return right


def draws_of_folds(folds: Sequence[Path]) -> Draws | None:
    """Return the draws of the folds' tested videos, fold after fold; ``None`` if each video is one.

    Draws are joined by their names, because a large recording may have videos in several folds, numbered differently.
    """
    names: list[str] = []
    kind = ""
    for folder in folds:
        data = open_dataset({"data": identity_of(folder).settings["data"]})
        kind = data.draw_kind
        names_of_fold = data.draw_names("test")
        tested = read_predictions(folder)
        assert tested is not None  # read_logits has read it
        names += [names_of_fold[video] for video in tested.video]
    if len({*names}) == len(names):
        return None
    return Draws.of_names(kind, names)


def _take_orders(run_dir: Path, folds: Mapping[str, Path]) -> dict[str, float]:
    """Write the folds' further tests into the run trained on all videos; return its accuracies."""
    metrics = {}
    for order in OF_SAME_VIDEOS:
        parts = []
        for folder in folds.values():
            forward = read_predictions(folder)
            changed = read_further(folder, result_of(folder), order)
            if forward and changed:
                parts.append((forward.video, changed))
        if len(parts) < len(folds):
            continue

        together = _with_numbers_of_folds(parts)
        write_bytes(run_dir / file_of_further(order), packed_predictions(together))
        metrics[f"{order}/video_top1"] = 100 * float(together.hits().mean())
    return metrics


def _with_numbers_of_folds(parts: list[tuple[NDArray[np.integer], Predictions]]) -> Predictions:
    """Join the folds' predictions of a single task, and number the videos as in :func:`take_tests`.

    Each part holds the numbers of a fold's tested videos, and its predictions. A video's new number is its position
    among the tested videos of all folds.
    """
    numbers = []
    tasks = []
    offset = 0
    for tested, changed in parts:
        both = np.intersect1d(tested, changed.video)  # a damaged frame may be in one of the tests alone
        numbers.append(offset + np.searchsorted(tested, both))
        tasks.append(changed.of(both).tasks[""])
        offset += len(tested)

    joined = TaskPredictions(
        predicted=np.concatenate([task.predicted for task in tasks]),
        rank=np.concatenate([task.rank for task in tasks]),
        confidence=np.concatenate([task.confidence for task in tasks]),
        target=np.concatenate([task.target for task in tasks]),
        classes=tasks[0].classes,
    )
    return Predictions(np.concatenate(numbers), {"": joined})


def result_of(run_dir: Path) -> RunResult:
    """Return the result of a run that must be finished."""
    result = read_record(run_dir).result
    if result is None:
        raise UserError(f"{run_dir}: not finished; train it first")
    return result


def identity_of(run_dir: Path) -> Identity:
    """Return the identity of a run that must have one."""
    identity = read_record(run_dir).identity
    if identity is None:
        raise UserError(f"{run_dir}: its settings are not recorded; train it again")
    return identity


def temperature(logits: NDArray[np.floating], target: NDArray[np.integer]) -> float:
    """Return the divisor of logits that gives the highest likelihood (Guo et al., arXiv:1706.04599, section 4.2)."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def loss(log: float) -> float:
        scaled = log_softmax(logits.astype(np.float64) / np.exp(log), axis=1)
        return -float(scaled[np.arange(len(target)), target].mean())

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(_LEAST), np.log(_MOST)), method="bounded").x))


def _joined(folds: list[Logits]) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    logits, target, _ = zip(*folds, strict=True)
    return np.concatenate(logits), np.concatenate(target)
