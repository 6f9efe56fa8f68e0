"""Head on one frame's features: how far single frames alone go with a trained model."""

import logging
from pathlib import Path

import numpy as np
from lightning import Trainer
from numpy.typing import NDArray

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.split_test import SplitTest, tests_of_splits
from lit_video.engine.frame_features import FrameFeatures, VideoFeatures, takes_little
from lit_video.modules import VideoClassifier
from lit_video.runs.predictions import Draws, Predictions
from lit_video.utils.classes import by_task
from lit_video.utils.logistic import fit_head
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
    names = data.training_draws(data.training_sample())
    draws = Draws.of_names(data.draw_kind, names).number[trained.video]

    outputs = {}
    for number, (task, classes) in enumerate(by_task(data.class_names).items()):
        labels = _of_task(trained.target, number)
        if len(np.unique(labels)) < 2:
            return None
        head = fit_head(trained.features, labels, draws, classes=len(classes))
        outputs[task] = (head.scores(tested.features), _of_task(tested.target, number), classes)
    return Predictions.of_logits(tested.video, outputs)


def _of_task(target: NDArray[np.integer], number: int) -> NDArray[np.integer]:
    """Return the class numbers of a task from those of all tasks, ``(videos,)`` or ``(videos, tasks)``."""
    return target if target.ndim == 1 else target[:, number]
