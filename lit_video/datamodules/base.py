"""Base class of data sets: loaders, views, augmentation on the device, exact resumption."""

from __future__ import annotations  # a signature then shows names of types, such as Count

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from multiprocessing.pool import AsyncResult, ThreadPool
from pathlib import Path
from typing import Any, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from lightning import LightningModule, Trainer
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from lit_video.datamodules.broken import BrokenVideos, OnBroken
from lit_video.datamodules.checks import refuse_choice, refuse_contradictions, refuse_endless, shown_in_lesson
from lit_video.datamodules.features import Features
from lit_video.datamodules.floors import Needs
from lit_video.datamodules.loaders import SeededClips, loader, ranks, training_sampler
from lit_video.datamodules.manifest import Manifest, load_tables
from lit_video.datamodules.records import Records, print_once
from lit_video.errors import UserError
from lit_video.runs.predictions import Draws
from lit_video.utils.arguments import Count, NotNegative, Percent, ShareAboveZero, Whole, check_arguments
from lit_video.utils.classes import Classes
from lit_video.utils.clip_shape import ImageSize, PerChannel, as_setting
from lit_video.utils.files import data_folder, user_path
from lit_video.utils.splits import SPLITS, Split
from lit_video.utils.text import plural
from lit_video.video.augmentation import VIEWS, Augmentation, EvaluationViews, Recipe, TrainingView, recipe
from lit_video.video.batch import Batch, BatchDraws, Channels, RawBatch, draw, normalise, training_batch
from lit_video.video.clips import ClipDataset, FrameOrder, Sample, Short, VideoRecord, share_of, some_of
from lit_video.video.decoding import KeptVideos, decode
from lit_video.video.loading import EvaluationSampler, Lesson, TrainingSampler, VideoNumbers
from lit_video.video.sampling import Dense, Sampling
from lit_video.video.seeding import digest
from lit_video.video.settings import stored_settings
from lit_video.video.trained_on import trained_on

View = TrainingView | EvaluationViews
SOME = 512  # training videos that tell whether a model has learned them
SPLIT_OF_STAGE: dict[Any, Split] = {"train": "train", "test": "test", "predict": "test"}  # other stages: val
SPLITS_OF_USE: dict[Any, tuple[Split, ...]] = {"validate": ("val",), "test": ("test",), "predict": ("test",)}


class VideoDataModule(SeededClips):
    """Base of all video data sets; a subclass lists its classes and records.

    Training draws one random clip per video and epoch. Validation takes the centre clip and crop. Test takes
    ``test_clips`` x ``test_crops`` views of every video; :class:`~lit_video.modules.metrics.VideoAccuracy` averages
    their scores. A sample depends only on seed, epoch and index, not on workers, processes or restarts.

    Args:
        num_frames: number of frames of a clip.
        image_size: side of a clip in pixels, or its height and width; crops have its shape.
        batch_size: videos per batch and process.
        num_workers: decoding processes; use one per core.
        sampling: sampling of clips; ``None`` for ``Dense`` clips of 2 seconds.
        augmentation: a recipe's name (:mod:`~lit_video.video.augmentation`), or all settings; ``None``: random crops.
        test_clips: temporal views of a test video.
        test_crops: spatial views of each temporal view.
        views: ``even``: crops along the longer side; ``released``: as in the papers' code; ``whole``: squeezed frames.
        mean: mean of the pixels, 0 to 1: one number (0.5 for the ImageNet-21k ViTs), or one each for red, green, blue.
        std: standard deviation of the pixels, in the same form as ``mean``.
        channels: order of the channels; ``bgr`` for TimeSformer's released weights of Something-Something.
        seed: seed of the order of videos and of all augmentation.
        pairing: ``reverse`` puts each film beside its reverse into a batch: the same film played backwards, with the
            label of that direction, the same crop and augmentation. The gradients of layers that are blind to the
            order of frames then cancel. Only for data that know the reverses.
        lesson: classes that the first optimizer steps show; then all classes follow.
        order: order of a clip's frames in validation and test; ``static`` repeats the middle frame.
        test_orders: further orders of frames to test, to see what the model uses of time; ``run.json`` then has
            ``reversed/video_top1``, for example.
        broken: ``fail`` stops at a video that cannot be read, or a clip that needs a damaged frame; ``skip`` leaves out
            up to ``broken_percent`` of a split; ``report`` has no limit. The run's ``broken.csv`` lists these videos.
        broken_percent: percentage of broken videos that ``skip`` accepts.
        keep_gb: gigabytes of decoded videos that each process keeps in memory, for small data sets of short videos.
        manifest: file of ``data check``; it replaces a scan of every video and names broken videos before training.
        train_share: share of each class's training videos to use, above 0 and at most 1.
        short: for a video shorter than a clip: ``repeat`` its last frame, or ``loop`` the video (MMAction2, Scenic).
        short_side: short side of validation and test frames in pixels before cropping; ``None``: the crop's short side.
        test_image_size: side of a clip in validation and test; ``None`` for ``image_size``.
        features: folder of cached :mod:`~lit_video.datamodules.features` of a frozen backbone, loaded instead of clips.

    Raises:
        ValueError: settings contradict each other.
        UserError: files are missing or wrong, or a split is too small (:meth:`check`, :meth:`records`, loaders).
    """

    several_labels = False  #: True if labels are multi-hot: a one or zero for each class
    compares_contents: bool = False  #: True to look for equal files in two splits or classes, for a user's own videos
    disjoint = False  #: True if no video can be in two splits
    present: tuple[Split, ...] = SPLITS  #: splits that ``data check`` inspects
    further_splits: tuple[Split, ...] = ("train",)  #: splits that a run is tested on after its test
    sample_size = SOME  #: most training videos that are tested
    draw_kind = "recording"  #: noun for one draw, see :meth:`draw_names`

    def __init__(
        self,
        num_frames: Count = 8,
        image_size: ImageSize = 224,
        batch_size: Count = 8,
        *,
        num_workers: Whole = 2,
        # how clips are cut in training, and in a test
        sampling: Sampling | None = None,
        augmentation: Recipe | Augmentation | None = None,
        test_clips: Count = 1,
        test_crops: Count = 3,
        views: Literal["even", "released", "whole"] = "even",
        # pixels
        mean: PerChannel = 0.5,
        std: PerChannel = 0.5,
        channels: Channels = "rgb",
        # draws, the order of videos in training, and that of a clip's frames
        seed: int = 0,
        pairing: Literal["reverse"] | None = None,
        lesson: Lesson | None = None,
        order: FrameOrder = "forward",
        test_orders: tuple[FrameOrder, ...] = (),
        # reading of the videos
        broken: OnBroken = "fail",
        broken_percent: Percent = 1.0,
        keep_gb: NotNegative = 0.0,
        manifest: str | None = None,
        # seldom needed
        train_share: ShareAboveZero = 1.0,
        short: Short = "repeat",
        short_side: Count | None = None,
        test_image_size: ImageSize | None = None,
        features: str | None = None,
    ) -> None:
        check_arguments(locals())
        super().__init__(
            num_frames,
            image_size,
            batch_size,
            num_workers=num_workers,
            mean=mean,
            std=std,
            channels=channels,
            seed=seed,
        )
        # clips, and how they are cut in training
        self.sampling = sampling or Dense()
        self.short: Short = short
        if augmentation is None:
            augmentation = replace(recipe(None), crop="whole" if views == "whole" else "scale")
        self.augmentation = recipe(augmentation, self.image_size)
        self.train_share = train_share
        self.pairing: Literal["reverse"] | None = pairing
        self.lesson = lesson

        # views of validation and test
        self.test_clips = test_clips
        self.test_crops = test_crops
        self.views = views
        self.short_side = short_side
        self.test_image_size = as_setting(test_image_size or image_size)
        self.order: FrameOrder = order
        self.test_orders = test_orders

        # reading
        self.keep_gb = keep_gb
        self._decode = KeptVideos(decode, keep_gb) if keep_gb else decode
        self.manifest = manifest
        self.features = features
        self._features: Features | None = None
        self._backbone = 0  # digest of the backbone whose features these are

        # records of a run
        self.found_broken = BrokenVideos(broken, broken_percent)
        self.video_counts: dict[str, dict[str, int]] = {}  # numbers of listed and used videos by split
        # digests by the model that they train, because another model that these data test has not seen the videos
        self._trained_digests: WeakKeyDictionary[LightningModule, AsyncResult[str] | str] = WeakKeyDictionary()

        refuse_contradictions(self)

    @property
    def class_names(self) -> list[str] | dict[str, list[str]]:
        """Names of the classes in the order of their numbers; with several tasks, such a list for each task."""
        raise NotImplementedError

    def trained_on(self, model: LightningModule) -> str:
        """Return digests of the videos that a model was trained on here; empty until rank 0 begins to compute them."""
        digests = self._trained_digests.get(model, "")
        return digests if isinstance(digests, str) else digests.get()

    def _begin_use(self, trainer: Trainer) -> None:
        super()._begin_use(trainer)
        splits = SPLITS_OF_USE.get(trainer.state.fn, get_args(Split))
        self.found_broken.forget(*splits)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: texts in place of the threads that read digests, for which it waits."""
        return vars(self) | {"_trained_digests": {model: self.trained_on(model) for model in self._trained_digests}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the state of the original."""
        vars(self).update(state, _trained_digests=WeakKeyDictionary(state["_trained_digests"]))

    def records(self, split: Split) -> Sequence[VideoRecord]:
        """Return a split's videos, in a fixed order."""
        raise NotImplementedError

    def draw_names(self, split: Split) -> Sequence[str]:
        """Return for each video of a split the name of its draw; videos with the same name are one draw.

        By default the segments of one file are one draw. Intervals count draws in place of videos.
        """
        return Records.of(self.records(split)).paths

    def draws(self, split: Split) -> Draws | None:
        """Return the independent draws of a split's videos; ``None`` if each video is one."""
        names = self.draw_names(split)
        if len(set(names)) == len(names):
            return None
        return Draws.of_names(self.draw_kind, names)

    def needs(self) -> Needs | None:
        """Return what the videos need of a model; ``None`` if it is not known, as of filmed ones."""
        return None

    def told(self, compared: Collection[tuple[int, int]]) -> list[str] | None:
        """Return the skills that pairs of compared frames of a clip tell; ``None`` on videos without known skills."""
        return None

    @property
    def drawn_as(self) -> str:
        """Name that states how every video is drawn, in place of a digest of the list; empty for filmed videos."""
        return ""

    @property
    def shared_folder(self) -> Path:
        """Folder of files that runs on these videos share, such as starting weights."""
        return data_folder()

    def check(self) -> None:
        """Check before training that the data exists."""

    @property
    def class_groups(self) -> dict[str, list[int]]:
        """Class numbers of each group, by its name; ``test/NAME`` is the top-1 accuracy over the group's videos."""
        return {}

    @property
    def opposites(self) -> dict[str, tuple[int, int]]:
        """Pairs of classes that differ in direction alone, by skill; empty, or with all classes in them."""
        return {}

    @property
    def num_classes(self) -> Classes:
        """Number of classes; with several tasks, a mapping from task to number."""
        names = self.class_names
        if isinstance(names, dict):
            return {task: len(names_of_task) for task, names_of_task in names.items()}
        return len(names)

    def view(self, crops: int) -> EvaluationViews:
        """Return the crops of a clip in validation and test."""
        return VIEWS[self.views](crops, self.test_image_size, self.short_side)

    def train_dataloader(self) -> DataLoader[Sample]:
        """Load one random clip of every video, in the order of :class:`~lit_video.video.loading.TrainingOrder`.

        An epoch has the steps that the videos fill. Processes of ``torch.distributed`` have a part of each step each.
        """
        records = self._expected("train")
        reverses = self.reverses(records) if self.pairing else None
        dataset = self._dataset(records, self.training_view(), reverses=reverses)

        videos = np.arange(len(records))
        if reverses is not None:
            videos = videos[videos < reverses]
            print_once(f"a batch has {plural(self.batch_size // 2, 'film')}, each beside its reverse")
        if self.lesson is None:
            sampler = training_sampler(self, videos, reverses=reverses)
        else:
            shown = shown_in_lesson(self, records, reverses)
            sampler = training_sampler(
                self,
                videos,
                reverses=reverses,
                lesson=videos[shown[videos]],
                lesson_steps=self.lesson.steps,
            )
            refuse_endless(self.lesson, sampler, self.trainer)

        # digests are read in the background, once nothing is refused any more; a checkpoint waits for them
        trainer = self.trainer
        if trainer and trainer.is_global_zero and trainer.lightning_module not in self._trained_digests:
            trained_before = getattr(trainer.lightning_module, "trained_on", "")
            self._trained_digests[trainer.lightning_module] = ThreadPool(1).apply_async(
                trained_on, (dataset.records, trained_before)
            )

        return self._loader(dataset, sampler)

    def with_reverses(self, records: Records) -> Records:
        """Return training videos with the reverse of each; here all are there already."""
        return records

    def reverses(self, records: Records) -> VideoNumbers:
        """Return for each training video the number of its reverse, the same film played backwards: ``(videos,)``."""
        raise UserError("data.pairing: this data set does not know which videos are each other's reverse; leave it out")

    def val_dataloader(self) -> Any:
        """Load the centre view of every video."""
        return self._views("val", clips=1, crops=1)

    def test_dataloader(self) -> Any:
        """Load all views of every test video."""
        if self.trainer and self.trainer.ckpt_path:
            loaded = str(self.trainer.ckpt_path)
            savers = self.trainer.checkpoint_callbacks
            choosers = [saver for saver in savers if getattr(saver, "best_model_path", "") == loaded]
            refuse_choice(self, choosers)
        return self.test_loader()

    def test_loader(self, split: Split = "test", order: FrameOrder | None = None) -> Any:
        """Load all views of a split's videos, cut as in the test; of the training split up to ``sample_size``.

        ``order`` is that of a clip's frames, ``None`` for the data set's.
        """
        return self._views(split, self.test_clips, self.test_crops, order=order)

    def predict_dataloader(self) -> Any:
        """Load the centre view of every test video."""
        return self._views("test", clips=1, crops=1)

    def keep_features(self, compute: Callable[[Tensor], Tensor], device: torch.device, backbone: int) -> None:
        """Let loaders return features of a frozen backbone in place of clips.

        Args:
            compute: the backbone.
            device: device on which features that are not yet on disk are computed.
            backbone: digest of the backbone.
        """
        random = self._dataset([], self.training_view())
        evaluation = [self._dataset([], self.view(1), clips=1)]
        if (self.test_clips, self.test_crops) != (1, 1):
            evaluation.append(self._dataset([], self.view(self.test_crops), clips=self.test_clips))
        key = digest(backbone, stored_settings(self), self.augmentation)
        self._backbone = backbone
        self._features = Features(user_path(str(self.features)) / f"{key:016x}", random, evaluation)

        def features_of(clips: Tensor) -> Tensor:
            on_device = clips[None].to(device)
            return compute(normalise(on_device, self.mean, self.std, channels=self.channels))

        records = chain.from_iterable(self.records(split) for split in SPLITS)
        self._features.complete([*records], features_of)

    def training_sample(self) -> Records:
        """Return the training videos that a test takes: up to ``sample_size``, always the same."""
        return Records.of(some_of(self._expected("train"), self.sample_size))

    def training_draws(self, records: Records) -> list[str]:
        """Return the names of the draws of some training videos, see :meth:`draw_names`."""
        identities = Records.of(self.records("train")).identities()
        names = dict(zip(identities, self.draw_names("train"), strict=True))
        return [names[identity] for identity in records.identities()]

    def training_centres(self) -> tuple[Any, list[str]]:
        """Return a loader of the centre view of every training video, and the names of these videos' draws."""
        records = self._expected("train")
        dataset = self._dataset(records, self.view(1), clips=1)
        sampler = EvaluationSampler(len(dataset), ranks(self.trainer))
        return self._loader(dataset, sampler), self.training_draws(records)

    def training_view(self) -> TrainingView:
        """Return the random crop and augmentation of a training clip."""
        return TrainingView(self.augmentation, self.image_size)

    def centre_view(self, record: VideoRecord) -> tuple[RawBatch, list[int]]:
        """Return a video's centre view as a batch of one, and its frame numbers; an empty list for a broken video."""
        dataset = self._dataset([record], self.view(1), clips=1)
        batch: RawBatch = default_collate([dataset[0, 0]])
        if batch["broken"][0]:
            return batch, []
        return batch, dataset.numbers(record, 0)

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> RawBatch | Any:
        """Count broken videos and videos with gaps; draw the random augmentation of a training batch on the CPU."""
        if self.trainer is None or not is_raw(batch):
            return batch

        if any(batch["broken"]) or any(batch.get("gap", ())):
            split = SPLIT_OF_STAGE.get(self.trainer.state.stage, "val")
            videos = batch["video"].tolist()
            self.found_broken.add(split, videos, batch["broken"])
            self.found_broken.add_gaps(split, videos, batch.get("gap", [""] * len(videos)))
        if self.trainer.training:
            batch["draws"] = self._draws(batch)
        return batch

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Batch | Any:
        """Augment a training batch, or normalise an evaluation batch, on the device; leave other batches unchanged."""
        if not is_raw(batch):
            return batch
        return self.augment(batch) if batch.get("draws") else self.normalise(batch)

    def augment(self, batch: RawBatch) -> Batch:
        """Apply erasing, mixing, label smoothing and normalisation to a batch of the training loader, on its device.

        Shape: clips uint8 ``(b, 1, t, 3, height, width)`` -> ``(b, 3, t, height, width)``; targets ``(b, classes)``.
        With Fabric or in a custom loop, call it for every batch; with Lightning's Trainer a hook calls it.
        """
        return training_batch(
            batch,
            self.mean,
            self.std,
            classes=self.num_classes,
            smoothing=self.augmentation.label_smoothing,
            draws=batch.get("draws") or self._draws(batch),
            channels=self.channels,
        )

    def _draws(self, batch: RawBatch) -> BatchDraws:
        """Draw the random augmentation of a batch, as tensors on the clips' device."""
        height, width = batch["clip"].shape[-2:]
        draws = draw(
            batch["key"].cpu(),
            (height, width),
            self.augmentation,
            seed=self.seed,
            reverses=self.pairing is not None,
        )
        on_device: BatchDraws = move_data_to_device(draws, batch["clip"].device)
        return on_device

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch and the broken training videos, for the checkpoint."""
        return super().state_dict() | {"broken": dict(self.found_broken.reasons["train"])}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep position and broken videos of a checkpoint for the training that begins with it."""
        super().load_state_dict(state_dict)
        broken = state_dict["broken"]
        if broken and self._may_resume:
            count = len(self._expected("train"))
            reasons = {video: reason for video, reason in broken.items() if video < count}
            self.found_broken.reasons["train"] = reasons

    def _views(self, split: Split, clips: int, crops: int, order: FrameOrder | None = None) -> Any:
        """Load views of a split's videos; of the training split up to ``sample_size``."""
        records = self.training_sample() if split == "train" else self._expected(split)
        dataset = self._dataset(records, self.view(crops), clips=clips, order=order or self.order)
        if not len(dataset):
            return []  # Lightning skips a stage without loaders

        # processes get equal numbers of clips, so two may get the same one; metrics count each view once
        return self._loader(dataset, EvaluationSampler(len(dataset), ranks(self.trainer)))

    def _dataset(
        self,
        records: Sequence[VideoRecord],
        view: View,
        *,
        clips: int | None = None,
        order: FrameOrder = "forward",
        reverses: VideoNumbers | None = None,
    ) -> ClipDataset:
        """Return clips of some videos: ``clips`` for each video, evenly spaced, or a random one if it is ``None``."""
        return ClipDataset(
            records,
            self.sampling,
            self.num_frames,
            view=view,
            seed=self.seed,
            clips=clips,
            order=order,
            fail=self.found_broken.on_broken == "fail",
            decode=self._decode,
            short=self.short,
            reverses=reverses,
        )

    def _expected(self, split: Split) -> Records:
        """Return the videos of a split that are used, after their faults in the manifest are known."""
        records = Records.of(self.records(split))
        if split == "train" and self.train_share < 1:
            records = Records.of(share_of(records, self.train_share))
        if split == "train" and self.pairing:
            records = self.with_reverses(records)
        self.found_broken.expect(split, records, self._tables())
        return records

    def _tables(self) -> Manifest | None:
        """Return the manifest, ``None`` without one."""
        if not self.manifest:
            return None
        return load_tables(user_path(self.manifest), self.data_root())

    def _loader(self, dataset: ClipDataset, sampler: TrainingSampler | EvaluationSampler) -> DataLoader[Sample]:
        """Load clips, or their cached features, which exist only for clips with the frames in their own order.

        A training computes the features of its model; another model, also the next in a test, uses none.
        """
        if self.features and self.trainer:
            model: Any = self.trainer.lightning_module
            if self.trainer.state.fn == "fit" and hasattr(model, "cache_features"):
                model.cache_features(self)
            elif self._features and getattr(model, "backbone_digest", 0) != self._backbone:
                self._features = None
        if self._features and dataset.order == "forward":
            dataset = self._features.of(dataset)

        return loader(
            dataset,
            sampler,
            batch_size=self.batch_size,
            num_workers=self.num_workers,
            tables=self._tables(),
        )

    def data_root(self) -> Path:
        """Return the base of relative paths: the root, or the common parent folder of all videos."""
        root: Path | None = getattr(self, "root", None)
        if root:
            return Path(root)

        paths: list[str] = []
        for split in SPLITS:
            paths += Records.of(self.records(split)).paths
        return Path(os.path.commonpath(paths))


def is_raw(batch: Any) -> bool:
    """Return whether a batch is from a loader of this package, not from a user's or an example for an export."""
    return isinstance(batch, Mapping) and {"clip", "label", "broken", "key"} <= batch.keys()
