"""Features of one repeated frame: what a model's last layer reads of each video in a test with ``static`` frames."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from numpy.typing import NDArray
from torch import Tensor, nn

from lit_video.datamodules.split_test import test_of
from lit_video.modules import VideoClassifier
from lit_video.modules.metrics import VideoAccuracy
from lit_video.network.aggregation import clip_means

STATIC = "static"  # the order of frames in which one of them is repeated
LEAST_SECONDS = 60.0  # time that a head on single frames may take however short the tests are
MOST_TESTS = 6  # more time than so many tests of one repeated frame is long: twice that of three orders


def takes_little(seconds: float, test_seconds: float) -> bool:
    """Return whether features of training videos, for a head on single frames, take little time beside the tests.

    ``test_seconds`` is the time of a test of one repeated frame.
    """
    return seconds <= max(LEAST_SECONDS, MOST_TESTS * test_seconds)


@dataclass(frozen=True)
class VideoFeatures:
    """Features of videos, means over their views."""

    video: NDArray[np.integer]  # numbers in the data set, (videos,)
    features: NDArray[np.float64]  # (videos, width)
    target: NDArray[np.integer]  # class numbers, (videos,) or (videos, tasks)
    seconds: float  # duration of the test


class FrameFeatures(Callback):
    """Features of every test with one repeated frame, by the split whose videos it takes: ``train`` or ``test``.

    Tests of a model without a known last layer, with several labels per video, or with batches of another loader leave
    nothing.
    """

    def __init__(self) -> None:
        self.of_split: dict[str, VideoFeatures] = {}
        self._open = ExitStack()
        self._inputs: list[Tensor] | None = None
        self._videos = VideoAccuracy()  # gathers processes, and counts each view once; its logits are features here
        self._began = 0.0

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin to collect if the frames are those of one repeated frame."""
        self.close()
        test = test_of(trainer.datamodule)  # type: ignore[attr-defined]
        if test is None or test.order != STATIC:
            return
        self.of_split.pop(test.split, None)
        if not isinstance(pl_module, VideoClassifier) or pl_module.several_labels:
            return

        try:
            self._inputs = self._open.enter_context(layer_inputs(pl_module.get_classifier()))
            self._open.enter_context(torch.compiler.set_stance("force_eager"))  # compiled code ignores the hook
        except ValueError:  # no known last layer
            return
        self._videos = VideoAccuracy().to(pl_module.device)
        self._began = perf_counter()

    def on_test_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int, *args: Any
    ) -> None:
        """Keep the features of a batch."""
        if self._inputs is None:
            return
        inputs = [*self._inputs]
        self._inputs.clear()
        is_ours = isinstance(batch, dict) and {"target", "video", "view"} <= batch.keys()
        if not is_ours or len(inputs) != 1 or len(inputs[0]) != len(batch["video"]):
            self.close()
            return
        self._videos.update(inputs[0], batch["target"], video=batch["video"], view=batch["view"])

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Gather the features of all processes."""
        test = test_of(trainer.datamodule)  # type: ignore[attr-defined]
        if test is None or test.order != STATIC:
            return

        collected = trainer.strategy.reduce_boolean_decision(self._inputs is not None, all=True)
        self.close()
        if not collected or not self._videos.has_clips():
            return

        with self._videos.sync_context():
            video = self._videos.videos()
            features, target = self._videos.per_video()
        if not len(video) or not bool(torch.isfinite(features).all()):
            return

        self.of_split[test.split] = VideoFeatures(
            video.cpu().numpy(),
            features.double().cpu().numpy(),
            target.cpu().numpy(),
            seconds=perf_counter() - self._began,
        )

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Leave the network as it was."""
        self.close()

    def close(self) -> None:
        """Stop collecting."""
        self._open.close()
        self._inputs = None


@contextmanager
def layer_inputs(layer: nn.Module) -> Iterator[list[Tensor]]:
    """Collect a layer's inputs in a test of a Trainer, one for each call: ``(b, d)``, see :func:`clip_means`."""
    features: list[Tensor] = []
    with layer.register_forward_pre_hook(lambda layer, inputs: features.append(clip_means(layer, inputs[0]))):
        yield features
