"""Third step of a run: test the model, and measure what it has learned and what it can see."""

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import WeightAveraging

from lit_video.datamodules import VideoDataModule
from lit_video.datamodules.split_test import SplitTest, tests_of_splits
from lit_video.engine.finite import metrics_of, refuse_not_finite
from lit_video.runs.predictions import ONE_FRAME, file_of_further, packed_predictions
from lit_video.schemes.reach import reach
from lit_video.training.one_frame import frame_head
from lit_video.training.trainer import Training
from lit_video.utils.files import write_bytes


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
