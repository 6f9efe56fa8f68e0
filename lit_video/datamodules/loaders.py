"""Data loaders: a process's share of the clips, and the position at which training resumes."""

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from lightning import Trainer
from torch.utils.data import DataLoader, Dataset, Sampler

from lit_video.datamodules.manifest import Manifest
from lit_video.errors import UserError
from lit_video.utils.processes import ignore_stops
from lit_video.video.clips import Sample
from lit_video.video.decoding.frame_table import add_source
from lit_video.video.loading import TimedLoader, TrainingSampler


def ranks(trainer: Trainer | None) -> tuple[int, int]:
    """Return the number of processes, and this process's rank."""
    if trainer is not None:
        return trainer.world_size, trainer.global_rank
    if dist.is_available() and dist.is_initialized():  # Fabric
        return dist.get_world_size(), dist.get_rank()
    return 1, 0


def training_sampler(data: Any, count: int, resume: tuple[int, int]) -> TrainingSampler:
    """Return a sampler that begins where an epoch was left; refuse a step that takes more clips than there are videos.

    ``resume`` is the epoch, and the number of its videos that were seen.
    """
    accumulate = getattr(data.trainer, "accumulate_grad_batches", 1)
    processes, rank = ranks(data.trainer)
    sampler = TrainingSampler(
        count,
        data.seed,
        data.batch_size,
        ranks=(processes, rank),
        accumulate=accumulate,
    )
    if not sampler.steps:
        factors = f"{data.batch_size} x {processes} processes x {accumulate} batches"
        fault = f"a step takes {sampler.step_size} clips ({factors}), there are {count} videos"
        raise UserError(f"data.batch_size: {fault}")

    epoch, _ = resume
    sampler.resume = resume
    sampler.set_epoch(epoch)  # workers prefetch before Lightning sets the epoch
    return sampler


def position(trainer: Trainer, batch_size: int) -> tuple[int, int]:
    """Return the epoch, and the number of its videos that all processes together have seen."""
    loop = trainer.fit_loop
    # the epoch that began last, because trainer.current_epoch is one higher after an epoch's end
    epoch = loop.epoch_progress.current.ready - 1
    batches = loop.epoch_loop.batch_progress.current.ready
    if batches == trainer.num_training_batches:
        return epoch + 1, 0
    return epoch, batches * batch_size * trainer.world_size


def loader(
    dataset: Dataset[Sample],
    sampler: Sampler[Sample],
    *,
    batch_size: int,
    num_workers: int,
    tables: Manifest | None = None,
) -> DataLoader[Sample]:
    """Return a loader whose workers take frame tables from a manifest."""
    return TimedLoader(
        dataset,
        batch_size=batch_size,
        sampler=sampler,
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=partial(_start_worker, tables),
    )


def _start_worker(tables: Manifest | None, number: int) -> None:
    """Ignore stop signals, which Slurm sends to every process; use the manifest's frame tables."""
    ignore_stops()
    if tables:
        add_source(tables)
