"""Clips that depend on a seed: their loaders, a process's share of them, and the position at which training resumes."""

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from lightning import LightningDataModule, Trainer
from torch.utils.data import DataLoader, Dataset

from lit_video.datamodules.manifest import Manifest
from lit_video.datamodules.records import print_once
from lit_video.errors import UserError
from lit_video.utils.clip_shape import ImageSize, PerChannel, as_setting, per_channel
from lit_video.utils.processes import ignore_stops
from lit_video.video.batch import Batch, Channels, RawBatch, evaluation_batch
from lit_video.video.clips import Sample
from lit_video.video.decoding.table_reading import add_source
from lit_video.video.loading import EvaluationSampler, TimedLoader, TrainingOrder, TrainingSampler, VideoNumbers

LEAST_STD = 1e-3  # a quarter of a grey value


def ranks(trainer: Trainer | None) -> tuple[int, int]:
    """Return the number of processes, and this process's rank.

    Raises:
        UserError: processes share one model, as in tensor parallel training, and need equal clips.
    """
    if trainer is not None:
        shares = getattr(getattr(trainer, "strategy", None), "distributed_sampler_kwargs", None) or {}
        groups = shares.get("num_replicas", trainer.world_size)
        if groups != trainer.world_size:
            raise UserError(
                f"trainer.strategy: {trainer.world_size} processes in {groups} groups that share a model, but every "
                "process loads clips of its own: set tensor_parallel_size to 1"
            )
        return trainer.world_size, trainer.global_rank

    if dist.is_available() and dist.is_initialized():  # Fabric, or a loop of the user's
        processes = dist.get_world_size()
        if processes > 1:
            print_once(
                f"each of {processes} processes loads its own part of the videos: do not divide the loader again"
            )
        return processes, dist.get_rank()
    return 1, 0


def training_sampler(
    data: Any,
    videos: VideoNumbers,
    *,
    reverses: VideoNumbers | None = None,
    lesson: VideoNumbers | None = None,
    lesson_steps: int = 0,
) -> TrainingSampler:
    """Return a sampler that begins where training does; refuse a step that takes more clips than there are.

    Args:
        data: data module with ``trainer``, ``batch_size``, ``seed`` and ``position()``.
        videos: numbers of the videos; with ``reverses`` one of each film's two.
        reverses: for every video the number of its reverse, which follows it.
        lesson: those of ``videos`` that the first lesson shows.
        lesson_steps: optimizer steps of the lesson.
    """
    accumulate = getattr(data.trainer, "accumulate_grad_batches", 1)
    processes, rank = ranks(data.trainer)
    step_size = data.batch_size * processes * accumulate
    order = TrainingOrder(
        videos,
        data.seed,
        reverses=reverses,
        lesson=lesson,
        lesson_items=lesson_steps * step_size,
    )
    for part, name in ((videos, "videos"), (lesson, "videos of the lesson")):
        if part is not None and order.size * len(part) < step_size:
            factors = f"{data.batch_size} x {processes} processes x {accumulate} batches"
            there = f"there are {order.size * len(part)} {name}"
            raise UserError(f"data.batch_size: a step takes {step_size} clips ({factors}), {there}")

    return TrainingSampler(
        order,
        data.batch_size,
        ranks=(processes, rank),
        accumulate=accumulate,
        resume=data.position(),
    )


def seen_of_epoch(trainer: Trainer, batch_size: int) -> tuple[int, int]:
    """Return the epoch, and the number of its videos that all processes together have seen."""
    loop = trainer.fit_loop
    # the epoch that began last, because trainer.current_epoch is one higher after an epoch's end
    epoch = max(loop.epoch_progress.current.ready - 1, 0)
    batches = loop.epoch_loop.batch_progress.current.ready
    if batches == trainer.num_training_batches:
        return epoch + 1, 0
    return epoch, batches * batch_size * trainer.world_size


def loader(
    dataset: Dataset[Sample],
    sampler: TrainingSampler | EvaluationSampler,
    *,
    batch_size: int,
    num_workers: int,
    tables: Manifest | None = None,
) -> DataLoader[Sample]:
    """Return a loader whose workers take frame tables from a manifest."""
    clips = TimedLoader(
        dataset,
        batch_size=batch_size,
        sampler=sampler,
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=partial(_start_worker, tables),
    )
    # accelerate's prepare divides every loader without this mark among the processes, also one that is divided
    clips._is_accelerate_prepared = sampler.processes > 1
    return clips


def _start_worker(tables: Manifest | None, number: int) -> None:
    """Ignore stop signals, which Slurm sends to every process; use the manifest's frame tables."""
    ignore_stops()
    if tables:
        add_source(tables)


class SeededClips(LightningDataModule):
    """Base of data modules whose clips depend on seed, epoch and index alone, not on workers or restarts.

    The clips' pixels are uint8 until they are on the device, where they are normalised by ``mean`` and ``std``.
    A resumed training begins after the clips that its epoch has seen. See :class:`VideoDataModule` for the arguments.
    """

    def __init__(
        self,
        num_frames: int,
        image_size: ImageSize,
        batch_size: int,
        *,
        num_workers: int,
        mean: PerChannel,
        std: PerChannel,
        channels: Channels = "rgb",
        seed: int,
    ) -> None:
        super().__init__()
        self.num_frames = num_frames
        self.image_size = as_setting(image_size)
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.mean = per_channel("mean", mean)
        self.std = per_channel("std", std, least=LEAST_STD)
        self.channels: Channels = channels
        self.seed = seed
        # position in a checkpoint: epoch, and number of its clips that all processes together have seen
        self._loaded: tuple[int, int] | None = None

    @property
    def trainer(self) -> Trainer | None:
        """Trainer that uses the data, or that used them last; ``None`` without Lightning's Trainer."""
        return self._trainer

    @trainer.setter
    def trainer(self, trainer: Trainer | None) -> None:
        """Attach a trainer, as it does when a fit, validation, test or prediction begins; forget the last use."""
        self._trainer = trainer
        if isinstance(trainer, Trainer):
            self._begin_use(trainer)

    def _begin_use(self, trainer: Trainer) -> None:
        """Clear what another use has left; a hook of the data module would not do, as a subclass may override it."""
        self._loaded = None

    def normalise(self, batch: RawBatch) -> Batch:
        """Normalise all views, uint8 ``(b, views, t, 3, height, width)`` -> ``(b * views, 3, t, height, width)``."""
        return evaluation_batch(batch, self.mean, self.std, channels=self.channels)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, for the checkpoint."""
        assert self.trainer is not None
        epoch, seen = seen_of_epoch(self.trainer, self.batch_size)
        return {"epoch": epoch, "seen": seen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the checkpoint's position for the training that begins with it; a test or prediction has none."""
        if self._may_resume:
            self._loaded = (state_dict["epoch"], state_dict["seen"])

    @property
    def _may_resume(self) -> bool:
        """True unless a trainer loads a checkpoint for something else than training."""
        return self.trainer is None or self.trainer.state.fn == "fit"

    def position(self) -> tuple[int, int]:
        """Return epoch, and number of its clips that were seen, at which training begins; forget the checkpoint's."""
        stored = self._loaded
        self._loaded = None
        if stored and (self.trainer is None or self.trainer.ckpt_path):  # not that of a tuner's trial
            return stored
        return (self.trainer.current_epoch if self.trainer else 0), 0
