"""Accuracy on training videos at the end of training, which tells whether a model has learned."""

from pathlib import Path

from lightning import Trainer

from lit_video.datamodules import VideoDataModule
from lit_video.engine.finite import metrics_of
from lit_video.modules import VideoClassifier
from lit_video.tables.summary import TRAINED

TESTED = "test/video_top1"


def learned(trainer: Trainer, model: VideoClassifier, data: VideoDataModule, *, checkpoint: Path) -> dict[str, float]:
    """Test a checkpoint on up to 512 training videos; return ``train/video_top1`` in percent, or nothing.

    All runs on a data set use the same of its videos (:func:`~lit_video.video.clips.some_of`), without augmentation,
    with the views and the order of frames of the test; so the number differs from ``train/clip_top1`` in the curve.
    This test is not part of the training time. A data set with a test loader of its own has no such number.
    """
    if not tests_training_videos(data):
        return {}

    data.tested = "train"
    try:
        trainer.test(model, data, ckpt_path=checkpoint, verbose=False)
    finally:
        data.tested = "test"

    metrics = metrics_of(trainer, "test/")
    return {TRAINED: metrics[TESTED]} if TESTED in metrics else {}


def tests_training_videos(data: VideoDataModule) -> bool:
    """Return whether a data set's test takes training videos if ``tested`` is ``train``: one of its own may not."""
    return type(data).test_dataloader is VideoDataModule.test_dataloader
