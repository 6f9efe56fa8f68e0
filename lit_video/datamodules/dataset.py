"""A map-style data set of clips, every sample a function of (seed, epoch, index) alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import torch
from torch import Tensor
from torch.utils.data import Dataset, DistributedSampler

from lit_video.datamodules.decoding import Frames, decode, frame_table
from lit_video.datamodules.sampling import Sampling, bin_shifts, clip_spans, frame_numbers, seeded

Key = tuple[int, int]  # (epoch, index): the epoch travels with the index, so persistent workers cannot go stale


@dataclass(frozen=True)
class VideoRecord:
    """One labelled video file; of several tasks, in the order of the data set's classes, one label each."""

    path: Path
    label: int | tuple[int, ...]


class Sample(TypedDict):
    """One clip.

    ``clip``: uint8 ``(views, t, 3, side, side)``, a view being a spatial crop; ``label``: ``()``, or ``(tasks,)``.
    """

    clip: Tensor
    label: Tensor
    video: int
    first_view: int
    key: Tensor


class ClipDataset(Dataset[Sample]):
    """Clips of labelled videos.

    In training (``clips`` is None) one random clip per video. In evaluation ``clips`` even ones, each of which is an
    item of its own: item ``i`` is clip ``i % clips`` of video ``i // clips``.
    """

    def __init__(
        self,
        records: Sequence[VideoRecord],
        sampling: Sampling,
        frames: int,
        view: Callable[[Frames], Tensor],
        seed: int,
        clips: int | None = None,
    ) -> None:
        self.records = records
        self.sampling = sampling
        self.frames = frames
        self.view = view
        self.seed = seed
        self.clips = clips

    def __len__(self) -> int:
        """Items per epoch."""
        return len(self.records) * (self.clips or 1)

    def __getitem__(self, key: Key) -> Sample:
        """Decode one clip."""
        epoch, index = key
        video, clip = divmod(index, self.clips or 1)
        record = self.records[video]
        table = frame_table(record.path)
        with seeded(self.seed, epoch, index):
            span = clip_spans(self.sampling, table.seconds, self.clips)[clip]
            numbers = frame_numbers(table, span, bin_shifts(self.sampling, self.frames, clip, self.clips))
            views = self.view(decode(record.path, numbers))
        label = torch.tensor(record.label)
        return Sample(clip=views, label=label, video=video, first_view=clip * len(views), key=torch.tensor(key))


class EpochSampler(DistributedSampler[Sample]):
    """Yields ``(epoch, index)``; the order is a function of (seed, epoch), shared evenly by the ranks.

    Lightning sees a ``DistributedSampler``: it calls ``set_epoch`` and injects none of its own.

    Args:
        items: length of the data set.
        seed: of the order.
        shuffle: training order, or the given one.
        ranks: number of processes and the number of this one.
        drop_last: whether ranks share floor(items / ranks) items, or ceil with repeats.
    """

    def __init__(self, items: int, seed: int, shuffle: bool, ranks: tuple[int, int], drop_last: bool) -> None:
        super().__init__(
            range(items),  # type: ignore[arg-type]  # only its length is read
            num_replicas=ranks[0],
            rank=ranks[1],
            shuffle=shuffle,
            seed=seed,
            drop_last=drop_last,
        )
        self.resume: tuple[int, int] = (0, 0)

    def __iter__(self) -> Iterator[Key]:  # type: ignore[override]
        """The epoch's order; in the epoch of ``resume``, what a checkpoint has seen of it is left out."""
        epoch, seen = self.resume
        order = list(super().__iter__())
        yield from ((self.epoch, int(i)) for i in order[seen if epoch == self.epoch else 0 :])  # type: ignore[call-overload]
