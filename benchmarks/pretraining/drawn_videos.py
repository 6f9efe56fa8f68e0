"""Drawn videos to pretrain on, endlessly many, drawn from a seed without files."""

from typing import Annotated, Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.pretraining.drawn.catalogue import MOTIONS
from benchmarks.pretraining.drawn.degradations import BLOCK
from benchmarks.pretraining.drawn.video import TASKS, draw_labels, draw_video
from lit_video.datamodules.loaders import SeededClips, loader, ranks, training_sampler
from lit_video.utils.arguments import Count, Range, Share, Whole, check_arguments
from lit_video.utils.clip_shape import PerChannel
from lit_video.utils.text import did_you_mean
from lit_video.video.batch import Batch, BatchDraws, training_batch
from lit_video.video.clips import Key, Sample, full_key
from lit_video.video.loading import EvaluationSampler, TrainingSampler
from lit_video.video.seeding import digest

DRAWN_VERSION = 1  # increment whenever the videos of a seed change
Side = Annotated[int, Range(16, 512)]
Task = Literal["motion", "speed", "camera", "form", "texture", "hue"]


class DrawnVideos(SeededClips):
    """Endless videos of drawn actors that move, to pretrain a video model on without data, files or a network.

    A shape, a person, a chain of links or a pair of shapes does one of 219 motions, before a textured background with
    still things, some of which hide it. Most motions come in pairs, which are each other played backwards. Labels are
    factors, each a task of its own (:attr:`num_classes`):

    ======= ======= ==================================================================================================
    task    classes what it says
    ======= ======= ==================================================================================================
    motion      219 what moves, where to, in which order: see :mod:`benchmarks.pretraining.drawn.catalogue`
    speed         5 steady, speeding, slowing, surging, pausing
    camera       14 still, or it pans, zooms, rolls or shakes
    form         14 contour of a shape, person, or chain
    texture      10 texture of the actor
    hue           8 hue of the actor's texture
    ======= ======= ==================================================================================================

    **No frame shows the direction, even if its time is known**: every coordinate of a pose moves on a circle from a
    uniform start, see :mod:`benchmarks.pretraining.drawn.paths`. A frame does show the kind of actor, and so which
    motions are possible; whether the actor travels over the picture or stays near its middle; and for motions of
    several joints at once, which joints move together. But all of this is the same for a motion and its reversal.

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
        tasks: tasks of the labels; ``None`` for all. The videos stay the same.
        moving_camera: share of the videos in which the camera moves.
        degradation: strength of light, blur, noise and compression, 0 to 1.
        flow: side of the patches in pixels whose mean displacement a batch has too (``flow``, see
            :class:`DrawnSample`); ``None``: of none.
        mean: mean of the pixels, 0 to 1: one number, or one each for red, green, blue.
        std: standard deviation of the pixels, in the same form as ``mean``.
        paired: whether a training batch has every video beside the same frames backwards, whose labels are the reversed
            motion, speed and camera and the same form, texture and hue.
        lesson: motions that the first epochs show, the only ones; all classes are there from the first step.
        lesson_epochs: number of these epochs.
        seed: seed of all videos.

    Raises:
        ValueError: a setting is no value of its type, a motion is unknown, a task is named twice, or pairs do not fill
            a batch or an epoch.
    """

    def __init__(
        self,
        num_frames: Annotated[int, Range(2)] = 8,
        image_size: Side = 64,
        batch_size: Count = 32,
        *,
        num_workers: Whole = 2,
        epoch_length: Count = 8192,
        val_length: Count = 512,
        motions: tuple[str, ...] | None = None,
        tasks: tuple[Task, ...] | None = None,
        moving_camera: Share = 0.5,
        degradation: Share = 1.0,
        flow: Count | None = None,
        mean: PerChannel = 0.5,
        std: PerChannel = 0.5,
        paired: bool = False,
        lesson: tuple[str, ...] | None = None,
        lesson_epochs: Whole = 0,
        seed: int = 0,
    ) -> None:
        check_arguments(locals())
        super().__init__(
            num_frames,
            image_size,
            batch_size,
            num_workers=num_workers,
            mean=mean,
            std=std,
            seed=seed,
        )
        if image_size % BLOCK:
            raise ValueError(f"image_size is {image_size}, expected a multiple of {BLOCK}, the side of JPEG's blocks")

        if flow is not None and image_size % flow:
            raise ValueError(f"flow is {flow}: patches of this side do not divide image_size {image_size}")
        if paired and (batch_size % 2 or epoch_length % 2):
            raise ValueError(f"paired: batch_size {batch_size} and epoch_length {epoch_length} must be even")
        if (lesson is None) != (lesson_epochs == 0):
            raise ValueError(f"lesson is {lesson} and lesson_epochs {lesson_epochs}: give both or none")

        self.side = image_size
        self.epoch_length = epoch_length
        self.val_length = val_length
        self.motions = tuple(MOTIONS) if motions is None else _known("motions", motions)
        self.lesson = self.motions if lesson is None else _known("lesson", lesson)
        self.lesson_epochs = lesson_epochs
        self.paired = paired
        self.tasks = tuple(TASKS) if tasks is None else _once(tasks)
        self.moving_camera = moving_camera
        self.degradation = degradation
        self.flow = flow

    @property
    def class_names(self) -> dict[str, list[str]]:
        """Class names of each task, in the order of a label's entries."""
        return {task: list(TASKS[task]) for task in self.tasks}

    @property
    def num_classes(self) -> dict[str, int]:
        """Number of classes of each task."""
        return {task: len(TASKS[task]) for task in self.tasks}

    @property
    def opposites(self) -> list[tuple[int, int]]:
        """Pairs of motion classes that are each other played backwards."""
        numbers = {name: number for number, name in enumerate(MOTIONS)}
        pairs: list[tuple[int, int]] = []
        for name, number in numbers.items():
            reverse = numbers[MOTIONS[name].reverse]
            if number < reverse:
                pairs.append((number, reverse))
        return pairs

    def train_dataloader(self) -> DataLoader[Sample]:
        """Draw an epoch of new videos."""
        videos = np.arange(self.epoch_length)
        reverses = None
        if self.paired:
            reverses = videos ^ 1  # of an even number the next one
            videos = videos[::2]
        sampler = training_sampler(self, videos, reverses=reverses)
        return self._loader("train", self.epoch_length, sampler)

    def val_dataloader(self) -> DataLoader[Sample]:
        """Draw the validation videos, the same in every epoch."""
        sampler = EvaluationSampler(self.val_length, ranks(self.trainer))
        return self._loader("val", self.val_length, sampler)

    def _loader(self, split: str, length: int, sampler: TrainingSampler | EvaluationSampler) -> DataLoader[Sample]:
        """Load videos of a split."""
        dataset = DrawnClips(self, split, length)
        return loader(dataset, sampler, batch_size=self.batch_size, num_workers=self.num_workers)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Batch:
        """Normalise the clips on the device; in training class numbers become probabilities."""
        if self.trainer is not None and self.trainer.training:
            unchanged = BatchDraws(boxes=None, mixture=None)
            prepared = training_batch(
                batch,
                self.mean,
                self.std,
                classes=self.num_classes,
                smoothing=0.0,
                draws=unchanged,
            )
        else:
            prepared = self.normalise(batch)
        if self.flow is None:
            return prepared
        return DrawnBatch(**prepared, flow=batch["flow"])


class DrawnSample(Sample, total=False):
    """A drawn video.

    ``flow``: mean displacement of each patch until the next frame in sides of the picture, x and y, and the share of
    its pixels that it is known of: floats ``(t, 3, rows, columns)``.
    """

    flow: Tensor


class DrawnBatch(Batch):
    """A batch of drawn videos; ``flow``: see :class:`DrawnSample`, with a batch axis in front."""

    flow: Tensor


class DrawnClips(Dataset[Sample]):
    """Drawn videos by ``(epoch, index)``; see :class:`~lit_video.video.clips.Sample` for their fields.

    Paired, a video of an odd index is the one before it, played backwards; even indices have the same videos unpaired.
    """

    def __init__(self, data: DrawnVideos, split: str, length: int) -> None:
        self.split = split
        self.length = length
        self.num_frames = data.num_frames
        self.side = data.side
        self.motions = data.motions
        self.lesson = data.lesson
        self.lesson_epochs = data.lesson_epochs
        self.paired = data.paired and split == "train"
        self.columns = [list(TASKS).index(task) for task in data.tasks]
        self.moving_camera = data.moving_camera
        self.degradation = data.degradation
        self.flow = data.flow
        self.seed = data.seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, item: Key | int) -> Sample:
        """Draw a video, see :func:`~lit_video.video.clips.full_key`."""
        epoch, index = full_key(item, training=self.split == "train")
        drawn_epoch = epoch if self.split == "train" else 0  # validation videos are the same in every epoch
        backwards = self.paired and index % 2 == 1
        motions = self.lesson if self.split == "train" and epoch < self.lesson_epochs else self.motions

        rng = np.random.default_rng(digest(DRAWN_VERSION, self.seed, self.split, drawn_epoch, index - backwards))
        labels = draw_labels(rng, motions, self.moving_camera)
        drawn = draw_video(
            rng,
            labels,
            self.num_frames,
            side=self.side,
            degradation=self.degradation,
            flow=self.flow is not None,
            backwards=backwards,
        )
        shown = labels.reversed if backwards else labels
        numbers = [shown.numbers[column] for column in self.columns]

        sample = DrawnSample(
            clip=torch.from_numpy(drawn.frames)[None],
            label=torch.tensor(numbers),
            video=index,
            first_view=0,
            key=torch.tensor((epoch, index)),
            broken="",
            gap="",
        )
        if self.flow is not None and drawn.flow is not None:
            sample["flow"] = F.avg_pool2d(torch.from_numpy(drawn.flow), self.flow)
        return sample


def _known(setting: str, motions: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of motions; refuse an empty list, an unknown name, and a name twice."""
    for name in motions:
        if name not in MOTIONS:
            raise ValueError(f"{setting} has {name!r}, which is no motion{did_you_mean(name, list(MOTIONS))}")
    if not motions or len(set(motions)) < len(motions):
        raise ValueError(f"{setting} is {list(motions)}, expected one or more names, each once")
    return tuple(motions)


def _once(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return tasks; refuse an empty list, and a task twice."""
    if not tasks or len(set(tasks)) < len(tasks):
        raise ValueError(f"tasks is {list(tasks)}, expected one or more of {', '.join(TASKS)}, each once")
    return tuple(tasks)
