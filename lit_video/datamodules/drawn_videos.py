"""Drawn videos to pretrain on: endless, by seed, without files."""

from typing import Annotated, Any

import numpy as np
import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from lit_video.datamodules.drawn.catalogue import MOTIONS
from lit_video.datamodules.drawn.degradations import BLOCK
from lit_video.datamodules.drawn.video import TASKS, draw_labels, draw_video
from lit_video.datamodules.loaders import loader, position, ranks, training_sampler
from lit_video.utils.arguments import Count, Range, Share, Whole, check_arguments
from lit_video.utils.clip_shape import PerChannel, per_channel
from lit_video.utils.text import did_you_mean
from lit_video.video.batch import Batch, BatchDraws, evaluation_batch, training_batch
from lit_video.video.clips import Key, Sample
from lit_video.video.loading import EvaluationSampler
from lit_video.video.seeding import digest

VERSION = 1  # increment whenever the videos of a seed change
Side = Annotated[int, Range(16, 512)]


class DrawnVideos(LightningDataModule):
    """Endless videos of drawn actors that move, to pretrain a video model on without data, files or a network.

    A shape, a person, a chain of links or a pair of shapes does one of 219 motions, before a textured background with
    still things, some of which hide it. Most motions come in pairs, which are each other played backwards. Labels are
    factors, each a task of its own (:attr:`num_classes`):

    ======= ======= ==================================================================================================
    task    classes what it says
    ======= ======= ==================================================================================================
    motion      219 what moves, where to, in which order: see :mod:`lit_video.datamodules.drawn.catalogue`
    speed         5 steady, speeding, slowing, surging, pausing
    camera       14 still, or it pans, zooms, rolls or shakes
    form         14 contour of a shape, person, or chain
    texture      10 texture of the actor
    hue           8 hue of the actor's texture
    ======= ======= ==================================================================================================

    **No frame shows the direction, even if its time is known**: every coordinate of a pose moves on a circle from a
    uniform start, see :mod:`lit_video.datamodules.drawn.paths`. A frame does show the kind of actor, and so which
    motions are possible; whether the actor travels over the picture or stays near its middle; and for motions of
    several joints at once, which joints go together. A motion and its reversal have the same frames in all of these.

    A video depends on ``seed``, epoch and index alone, not on workers, processes or restarts; validation videos have
    other seeds, the same in every epoch. Pixels may differ by a grey value between kinds of CPUs.

    Args:
        num_frames: frames of a video.
        image_size: side of a video in pixels, a multiple of 8.
        batch_size: videos per batch and process.
        num_workers: drawing processes.
        epoch_length: training videos of an epoch; every epoch has new ones.
        val_length: validation videos.
        motions: names of the motions to draw; ``None`` for all. Class numbers stay the same.
        moving_camera: share of the videos in which the camera moves.
        degradation: strength of light, blur, noise and compression, 0 to 1.
        mean: mean of the pixels, 0 to 1: one number, or one each for red, green, blue.
        std: standard deviation of the pixels, in the same form as ``mean``.
        seed: seed of all videos.

    Raises:
        ValueError: a setting is no value of its type, or a motion is unknown.
    """

    def __init__(
        self,
        num_frames: Annotated[int, Range(2)] = 8,
        image_size: Side = 64,
        batch_size: Count = 32,
        num_workers: Whole = 2,
        epoch_length: Count = 8192,
        val_length: Count = 512,
        motions: tuple[str, ...] | None = None,
        moving_camera: Share = 0.5,
        degradation: Share = 1.0,
        mean: PerChannel = 0.5,
        std: PerChannel = 0.5,
        seed: int = 0,
    ) -> None:
        check_arguments(locals())
        super().__init__()
        if image_size % BLOCK:
            raise ValueError(f"image_size is {image_size}, expected a multiple of {BLOCK}, the side of JPEG's blocks")
        self.num_frames = num_frames
        self.image_size = image_size
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.epoch_length = epoch_length
        self.val_length = val_length
        self.motions = tuple(MOTIONS) if motions is None else _known(motions)
        self.moving_camera = moving_camera
        self.degradation = degradation
        self.mean = per_channel("mean", mean)
        self.std = per_channel("std", std, least=1e-3)
        self.seed = seed
        self._resume = (0, 0)

    @property
    def class_names(self) -> dict[str, list[str]]:
        """Class names of each task, in the order of a label's entries."""
        return {task: list(names) for task, names in TASKS.items()}

    @property
    def num_classes(self) -> dict[str, int]:
        """Number of classes of each task."""
        return {task: len(names) for task, names in TASKS.items()}

    @property
    def opposites(self) -> list[tuple[int, int]]:
        """Pairs of motion classes that are each other played backwards."""
        numbers = {name: number for number, name in enumerate(MOTIONS)}
        pairs = [(number, numbers[MOTIONS[name].reverse]) for name, number in numbers.items()]
        return [(number, other) for number, other in pairs if number < other]

    def train_dataloader(self) -> DataLoader[Sample]:
        """Draw an epoch of new videos."""
        sampler = training_sampler(self, self.epoch_length, self._resume)
        return self._loader("train", self.epoch_length, sampler)

    def val_dataloader(self) -> DataLoader[Sample]:
        """Draw the validation videos, the same in every epoch."""
        return self._loader("val", self.val_length, EvaluationSampler(self.val_length, ranks(self.trainer)))

    def _loader(self, split: str, length: int, sampler: Any) -> DataLoader[Sample]:
        dataset: Any = DrawnClips(self, split, length)
        return loader(dataset, sampler, self.batch_size, self.num_workers, None)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Batch:
        """Normalise the clips on the device; in training class numbers become probabilities."""
        if self.trainer is not None and self.trainer.training:
            return training_batch(batch, self.mean, self.std, self.num_classes, 0.0, BatchDraws(None, None))
        return self.normalise(batch)

    def normalise(self, batch: Any) -> Batch:
        """Normalise uint8 ``(b, 1, t, 3, side, side)`` to ``(b, 3, t, side, side)``; targets are class numbers."""
        return evaluation_batch(batch, self.mean, self.std)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, for the checkpoint."""
        assert self.trainer is not None
        epoch, seen = position(self.trainer, self.batch_size)
        return {"epoch": epoch, "seen": seen}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Make the next training loader skip the videos already seen in the checkpoint's epoch."""
        self._resume = (state_dict["epoch"], state_dict["seen"])


class DrawnClips(Dataset[Sample]):
    """Drawn videos by ``(epoch, index)``; see :class:`~lit_video.video.clips.Sample` for their fields."""

    def __init__(self, data: DrawnVideos, split: str, length: int) -> None:
        self.split = split
        self.length = length
        self.num_frames = data.num_frames
        self.side = data.image_size
        self.motions = data.motions
        self.moving_camera = data.moving_camera
        self.degradation = data.degradation
        self.seed = data.seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, item: Key | int) -> Sample:
        """Draw a video; an index without an epoch belongs to epoch 0."""
        epoch, index = (0, item) if isinstance(item, int) else item
        drawn = epoch if self.split == "train" else 0
        rng = np.random.default_rng(digest(VERSION, self.seed, self.split, drawn, index))
        labels = draw_labels(rng, self.motions, self.moving_camera)
        frames = draw_video(rng, labels, self.num_frames, self.side, self.degradation)
        return Sample(
            clip=torch.from_numpy(frames)[None],
            label=torch.tensor(labels.numbers),
            video=index,
            first_view=0,
            key=_key(epoch, index),
            broken="",
            gap="",
        )


def _key(epoch: int, index: int) -> Tensor:
    return torch.tensor((epoch, index))


def _known(motions: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of motions, each once; refuse none, unknown ones, and a name twice."""
    for name in motions:
        if name not in MOTIONS:
            raise ValueError(f"motions has {name!r}, which is no motion{did_you_mean(name, list(MOTIONS))}")
    if not motions or len(set(motions)) < len(motions):
        raise ValueError(f"motions is {list(motions)}, expected one or more names, each once")
    return tuple(motions)
