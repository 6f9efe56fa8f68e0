"""Third step of a run: test the model, and measure what it has learned and can see, and how far one frame goes."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
from lightning import Trainer
from lightning.pytorch.callbacks import WeightAveraging
from numpy.typing import NDArray

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.records import Records
from lit_video.datamodules.split_test import SplitTest, tests_of_splits
from lit_video.engine.finite import metrics_of, refuse_not_finite
from lit_video.engine.frame_features import FrameFeatures, VideoFeatures, takes_little
from lit_video.modules import VideoClassifier
from lit_video.probes.linear import head_scores
from lit_video.runs.predictions import ONE_FRAME, Draws, Predictions, file_of_further, packed_predictions
from lit_video.schemes.reach import reach
from lit_video.training.trainer import Training
from lit_video.utils.classes import by_task
from lit_video.utils.files import write_bytes
from lit_video.utils.text import plural

_logger = logging.getLogger(__name__)


def frame_head(
    trainer: Trainer,
    model: VideoClassifier,
    data: VideoDataModule,
    *,
    checkpoint: Path | None,
    features: FrameFeatures,
) -> Predictions | None:
    """Train a linear head on single frames of training videos; return its predictions of the test's videos.

    The head reads what the model's own last layer reads, of clips that repeat one frame. Test videos choose nothing.
    Where the features of the training videos would take long, a line says so, and there is no head. Call the function
    in all processes, after the test of one repeated frame.

    Args:
        trainer: a trainer with ``features`` among its callbacks.
        model: the trained model.
        data: its videos.
        checkpoint: weights to load, as in the test.
        features: features of the test videos.

    Returns:
        Predictions; ``None`` without features of the test, without a training video, with training videos of one class,
        or where it would take long.
    """
    tested = features.of_split.get("test")
    if tested is None or not tests_of_splits(data):
        return None
    count = len(data.training_sample())
    if not count:
        return None

    seconds = count * tested.seconds / len(tested.video)
    is_short = trainer.strategy.broadcast(takes_little(seconds, tested.seconds))  # processes measure different times
    if not is_short:
        videos = plural(count, "training video")
        _logger.info(f"left out: a head on single frames, whose features of {videos} would take about {seconds:.0f} s")
        return None

    trainer.test(model, SplitTest(data, "train", "static"), ckpt_path=checkpoint, verbose=False)
    trained = features.of_split.get("train")
    return None if trained is None else _predicted(data, trained, tested)


def _predicted(data: VideoDataModule, trained: VideoFeatures, tested: VideoFeatures) -> Predictions | None:
    """Train a head for each task, and return the predictions of the tested videos."""
    # videos of one recording are one draw
    identities = Records.of(data.records("train")).identities()
    names = dict(zip(identities, data.draw_names("train"), strict=True))
    of_sample = [names[identity] for identity in data.training_sample().identities()]
    draws = Draws.of_names(data.draw_kind, of_sample).number[trained.video]

    outputs = {}
    for number, (task, classes) in enumerate(by_task(data.class_names).items()):
        labels = _of_task(trained.target, number)
        if len(np.unique(labels)) < 2:
            return None
        scores = head_scores(trained.features, labels, draws, tested=tested.features, classes=len(classes))
        outputs[task] = (scores, _of_task(tested.target, number), classes)
    return Predictions.of_logits(tested.video, outputs)


def _of_task(target: NDArray[np.integer], number: int) -> NDArray[np.integer]:
    """Return the class numbers of a task from those of all tasks, ``(videos,)`` or ``(videos, tasks)``."""
    return target if target.ndim == 1 else target[:, number]


def measure(training: Training, checkpoint: Path) -> dict[str, float]:
    """Test a checkpoint, then on further splits and in further orders of frames; refuse non-finite metrics.

    Some training videos, without augmentation, tell whether the model has learned them; the curve's are augmented. With
    one repeated frame among the orders, a head on single frames is trained and tested as well. Further tests are not
    part of the training time. Data with a test loader of its own has no tests of further splits.
    """
    for callback in training.trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, WeightAveraging):  # test the checkpoint's averaged weights
            callback.on_load_checkpoint = lambda *args: None  # type: ignore[method-assign]
    data = training.datamodule
    metrics = _tested(training, data, checkpoint) | training.predictions.calibration_error
    training.trainer.loggers = []  # further tests are not logged

    splits = data.further_splits if tests_of_splits(data) else ()
    further = [SplitTest(data, split) for split in splits]
    further += [SplitTest(data, order=order) for order in data.test_orders]
    for test in further:
        measured = _tested(training, test, checkpoint)
        measured.pop("test/videos", None)
        metrics |= {f"{test.key}/{key.removeprefix('test/')}": value for key, value in measured.items()}

    head = frame_head(training.trainer, training.model, data, checkpoint=checkpoint, features=training.frame_features)
    if head:
        if training.trainer.is_global_zero:
            write_bytes(training.run_dir / file_of_further(ONE_FRAME), packed_predictions(head))
        metrics[f"{ONE_FRAME}/video_top1"] = 100 * float(head.hits().mean())
    refuse_not_finite(metrics, f"test of {checkpoint}")
    return metrics


def _tested(training: Training, data: VideoDataModule | SplitTest, checkpoint: Path) -> dict[str, float]:
    training.trainer.test(training.model, data, ckpt_path=checkpoint, verbose=False)
    return metrics_of(training.trainer, "test/") | training.predictions.accuracies(training.datamodule)


def sight_and_needs(training: Training) -> dict[str, Any]:
    """Return what a model sees and its videos need, by fields of :class:`RunResult`; empty if no need is known."""
    data = training.datamodule
    needs = data.needs()
    if needs is None:
        return {}

    sight = reach(training.model.network, data.num_frames, data.image_size)
    return {
        "reach": sight.frames,
        "sees_order": sight.order,
        "sees_near": sight.near,
        # the ceiling holds for models that see a set of frames without order; one that sees neighbours may exceed it
        "blind_ceiling": needs.reversal_ceiling if sight.near else needs.blind_ceiling,
        "steps_shown": needs.steps_shown,
        "needed_reach": needs.reach,
        "told": data.told(sight.pairs) if sight.order else [],
        "sum_ceilings": needs.sum_ceilings,
        "two_frames_ceilings": needs.two_frames_ceilings,
    }
