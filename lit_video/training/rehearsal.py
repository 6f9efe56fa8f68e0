"""Rehearsal of a run: a few of its steps and views, as they are trained and tested, tell how long it will take."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import LightningEnvironment

from lit_video.datamodules.split_test import SplitTest
from lit_video.engine.step_times import Pace, StepTimes
from lit_video.experiment.cli import Built, VideoCLI
from lit_video.experiment.layers import of_row
from lit_video.settings.nested import Nested
from lit_video.tables.table import Row
from lit_video.training.process_state import process_as_before
from lit_video.training.run_end import keep_handlers
from lit_video.utils.clip_shape import height_and_width
from lit_video.utils.messages import hidden_messages
from lit_video.utils.processes import usable_cores

LEAST_TIMED = 3  # timed steps after the first epoch, in which videos are read for the first time
MOST_TIMED = 8
ENOUGH_SECONDS = 2.0  # time of these steps after which no more are made


@process_as_before()
def rehearse(settings: Nested, changes: Mapping[str, Any], *, at_once: int, alone: bool) -> Pace:
    """Measure the pace of a run on the few videos of its training table.

    A frozen backbone is left out, as its views are timed elsewhere: random features stand for its own, in a folder that
    is deleted. ``first_read`` is then the time in which a video's views are cut, and its features written.

    Args:
        settings: settings of an experiment, without the length of training.
        changes: settings of the row.
        at_once: number of runs that will share the cores.
        alone: whether the run will be trained in this process, not in one of its own.
    """
    started = time.perf_counter()
    row = Row("rehearsal", "rehearsal", dict(changes), {})
    nested = of_row(settings, row)
    model = nested["model"]["init_args"]
    for name in ("weights", "image_weights"):  # steps with random weights take as long
        model.pop(name, None)

    with _share_of_cores(at_once), TemporaryDirectory() as features:
        is_frozen = bool(nested["data"]["init_args"].get("features"))
        if is_frozen:
            nested["data"]["init_args"]["features"] = features
        built = VideoCLI(nested).build()
        built_at = time.perf_counter()
        first_read = _write_random_features(built) if is_frozen else 0.0
        times = RehearsalTimes()
        trainer = _trainer(built, times)
        trainer.fit(built.model, built.datamodule)
        trainer.test(built.model, SplitTest(built.datamodule, "train"), verbose=False)

    cold = times.steps[: times.first_epoch]
    warm = times.steps[times.first_epoch :]
    seconds_of_step = median(step.whole for step in warm)
    if built.datamodule.keep_gb and not is_frozen:  # a frozen run reads features, and each video once before
        reading = sum(step.data for step in cold) - len(cold) * median(step.data for step in warm)
        first_read = max(0.0, reading / (len(cold) * built.datamodule.batch_size))
    view = median(times.batches) / built.datamodule.batch_size
    # a run builds its model twice, first to check the settings
    start = 2 * (built_at - started) + times.before + (0 if alone else _seconds_of_imports())
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return Pace(
        start=start,
        step=seconds_of_step,
        first_read=first_read,
        view=view,
        other_view=view,
        stage=max(0.0, times.stage - sum(times.batches)),
    )


def _write_random_features(built: Built) -> float:
    """Write features of a backbone that takes no time; return the seconds of a video."""
    model = built.model
    network: Any = model.network
    clip = torch.zeros(1, 3, built.datamodule.num_frames, *height_and_width(built.datamodule.image_size))
    with torch.no_grad():
        features = torch.rand_like(network.forward_features(clip))

    def read(clips: torch.Tensor) -> torch.Tensor:
        return features.expand(len(clips), *features.shape[1:])

    network.forward_features = read
    model.weights_record.loaded_from = "file"  # a backbone of random weights is not frozen otherwise
    started = time.perf_counter()
    with hidden_messages():
        model.cache_features(built.datamodule)
    return (time.perf_counter() - started) / len(built.datamodule.records("train"))


class RehearsalTimes(StepTimes):
    """Callback that times steps and views, and ends the training after enough steps."""

    def __init__(self) -> None:
        super().__init__()
        self.first_epoch = 0  # steps of the first epoch
        self.before = 0.0  # seconds before the first step
        self.batches: list[float] = []  # seconds of the batches of a test
        self.stage = 0.0  # seconds of the test
        self._began = time.perf_counter()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End the time before the first step."""
        super().on_train_start(trainer, pl_module)
        self.before = self._end - self._began

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count the steps of the first epoch."""
        self.first_epoch = self.first_epoch or len(self.steps)

    def on_train_batch_end(self, *arguments: Any, **named: Any) -> None:
        """End a step; end the training if enough were timed."""
        super().on_train_batch_end(*arguments, **named)
        trainer: Trainer = arguments[0]
        warm = self.steps[self.first_epoch :] if self.first_epoch else []
        if len(warm) >= LEAST_TIMED and sum(step.whole for step in warm) > ENOUGH_SECONDS:
            trainer.should_stop = True

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clock of the test."""
        self._began = self._end = self._now(pl_module)

    def on_test_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any, **named: Any) -> None:
        """End a batch of the test, with the wait for it."""
        now = self._now(pl_module)
        self.batches.append(now - self._end)
        self._end = now

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End the test."""
        self.stage = self._now(pl_module) - self._began


def _trainer(built: Built, times: RehearsalTimes) -> Trainer:
    """Return a trainer of so few steps that writes nothing."""
    settings = built.config.trainer
    first_epoch = len(built.datamodule.records("train")) // built.datamodule.batch_size
    trainer = Trainer(
        accelerator=settings.accelerator,
        devices=1,
        plugins=[LightningEnvironment()],  # one process, even if torchrun or Slurm started this one
        precision=settings.precision,
        gradient_clip_val=settings.gradient_clip_val,
        max_steps=first_epoch + MOST_TIMED,
        limit_val_batches=0,
        callbacks=[times],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        use_distributed_sampler=False,
    )
    keep_handlers(trainer)
    return trainer


@contextmanager
def _share_of_cores(at_once: int) -> Iterator[None]:
    """Compute with the threads that a run has beside others, see :func:`lit_video.launching.queue.slots`."""
    threads = torch.get_num_threads()
    if at_once > 1 and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, usable_cores() // at_once))
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@cache
def _seconds_of_imports() -> float:
    """Measure how long a process takes to import what a run needs."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import lit_video.training.run"], check=False)
    return time.perf_counter() - started
