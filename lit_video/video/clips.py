"""Map-style data set of clips; a sample is a function of (seed, epoch, index) alone."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from lit_video.video.augmentation import EvaluationViews, TrainingView
from lit_video.video.decoding import Decode, DecodeError, Frames, FrameTable, decode, frame_table, segment
from lit_video.video.decoding.images import decode_images, image_table
from lit_video.video.sampling import Sampling
from lit_video.video.seeding import digest, seeded

Key = tuple[int, int]  # (epoch, index): persistent workers learn the epoch from the key
FrameOrder = Literal["forward", "reversed", "shuffled", "static"]
Short = Literal["repeat", "loop"]
MOST_DECODED_BYTES = 2**28  # most bytes of pixels that are decoded at once for the clips of a video


@dataclass(frozen=True)
class VideoRecord:
    """One labelled video, or a segment of one."""

    path: Path
    label: int | tuple[int, ...]  # a class number, a number per task, or multi-hot labels
    _: KW_ONLY
    start: float | None = None  # start of the segment, in seconds from the video's first frame; None for the beginning
    end: float | None = None  # end of the segment; None for the video's end
    fps: float | None = None  # rate of a folder of images; None for a video file
    backwards: bool = False  # whether the video is played backwards

    def table(self) -> FrameTable:
        """Return the table of the whole video's frames; see :func:`~lit_video.video.decoding.decode` for errors."""
        if self.fps is not None:
            return image_table(self.path, self.fps)
        return frame_table(self.path)

    def decode(self, numbers: Sequence[int], decode: Decode = decode) -> Frames:
        """Return RGB frames by their number, ``(len(numbers), height, width, 3)``; ``decode`` reads video files."""
        if self.fps is not None:
            decode = decode_images
        return decode(self.path, numbers)


def share_of(records: Sequence[VideoRecord], share: float) -> list[VideoRecord]:
    """Return a share of every class's videos (TimeSformer, Fig. 4), rounded up, in the order of the records.

    A larger share contains every smaller share. Which videos are kept depends only on their position within the class.
    """
    classes: dict[object, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        classes[record.label].append(index)

    kept: list[int] = []
    for indices in classes.values():
        ranks = sorted(range(len(indices)), key=lambda rank: digest("share", rank))
        count = math.ceil(share * len(indices))
        kept += [indices[rank] for rank in ranks[:count]]
    return [records[index] for index in sorted(kept)]


def some_of(records: Sequence[VideoRecord], most: int) -> list[VideoRecord]:
    """Return at most ``most`` videos, always the same ones, spread at random over the records; keep their order."""
    order = sorted(range(len(records)), key=lambda index: digest("some", index))
    return [records[index] for index in sorted(order[:most])]


class Sample(TypedDict):
    """One clip.

    ``clip``: uint8 ``(views, t, 3, height, width)``, a view per spatial crop; ``label``: ``()``, ``(tasks,)`` or
    multi-hot ``(classes,)``; ``broken``: path and reason if the video could not be read (its clip is black), or empty;
    ``gap``: path and description of gaps in the video's time, or empty.
    """

    clip: Tensor
    label: Tensor
    video: int
    first_view: int
    key: Tensor
    broken: str
    gap: str


@dataclass(eq=False, repr=False)
class ClipDataset(Dataset[Sample]):
    """Clips of labelled videos; seed, epoch and index decide their frames, crops and augmentation.

    Training (``clips`` is None) has one random clip per video. Evaluation has ``clips`` evenly spaced clips per video:
    item ``i`` is clip ``i % clips`` of video ``i // clips``. With ``fail`` an unreadable video raises its error.
    With ``reverses``, the number of every video's reverse, a film and its reverse have the same crop and augmentation,
    and the same frames in opposite order.
    """

    records: Sequence[VideoRecord]
    sampling: Sampling
    num_frames: int
    _: KW_ONLY
    view: TrainingView | EvaluationViews
    seed: int
    clips: int | None = None
    order: FrameOrder = "forward"
    fail: bool = True
    decode: Decode = decode
    short: Short = "repeat"
    reverses: NDArray[np.integer[Any]] | None = None

    def __len__(self) -> int:
        return len(self.records) * (self.clips or 1)

    def __getitem__(self, item: Key | int) -> Sample:
        """Decode one clip, see :func:`full_key`."""
        return self._samples([full_key(item, training=self.clips is None)])[0]

    def __getitems__(self, items: list[Key] | list[int]) -> list[Sample]:
        """Return a batch for PyTorch's loader; decode a video's clips together."""
        samples: list[Sample] = []
        full_keys = [full_key(item, training=self.clips is None) for item in items]
        for _, keys in groupby(full_keys, self._epoch_and_video):
            samples += self._samples(list(keys))
        return samples

    def _epoch_and_video(self, key: Key) -> tuple[int, int]:
        epoch, index = key
        return epoch, index // (self.clips or 1)

    def _samples(self, keys: list[Key]) -> list[Sample]:
        """Return clips of one video, decoded together unless they are too large or some frames are damaged."""
        _, video = self._epoch_and_video(keys[0])
        record = self.records[video]
        decode = partial(record.decode, decode=self.decode)

        if len(keys) > 1:
            try:
                numbers = np.unique([self._numbers(key) for key in keys]).tolist()
                table = record.table()
                size = 3 * len(numbers) * table.height * table.width
                if size <= MOST_DECODED_BYTES:
                    frames = record.decode(numbers, self.decode)
                    decode = partial(_chosen, frames, numbers)
            except DecodeError:  # perhaps a single clip is damaged, so decode each clip alone
                pass

        return [self._sample(key, decode) for key in keys]

    def _numbers(self, key: Key) -> list[int]:
        epoch, index = key
        video, clip = divmod(index, self.clips or 1)
        film = self._film(index)
        with seeded(self.seed, epoch, film):
            return self.numbers(self.records[video], clip, mirrored=film != index)

    def _film(self, index: int) -> int:
        """Return the item that decides an item's draws: of a film and its reverse the first, else the item itself."""
        return index if self.reverses is None else min(index, int(self.reverses[index]))

    def _sample(self, key: Key, decode: Callable[[list[int]], Frames]) -> Sample:
        epoch, index = key
        video, clip = divmod(index, self.clips or 1)
        record = self.records[video]
        film = self._film(index)
        broken = ""
        gap = ""
        try:
            with seeded(self.seed, epoch, film):
                views = self.view(decode(self.numbers(record, clip, mirrored=film != index)))
            gap = record.table().gap
        except DecodeError as error:
            if self.fail:
                raise
            broken = str(error)
            height, width = self.view.size
            views = torch.zeros(self.view.crops, self.num_frames, 3, height, width, dtype=torch.uint8)

        return Sample(
            clip=views,
            label=torch.tensor(record.label),
            video=video,
            first_view=clip * len(views),
            key=torch.tensor(key),
            broken=broken,
            gap=f"{record.path}: {gap}" if gap else "",
        )

    def numbers(self, record: VideoRecord, clip: int, mirrored: bool = False) -> list[int]:
        """Return the frame numbers of one clip of a video, in the order in which the model sees them.

        With ``mirrored`` the clip lies as far from the video's end as otherwise from its start, and its frames are in
        opposite order.
        """
        first, table = segment(record.path, record.table(), start=record.start, end=record.end)
        sampled = table
        if self.short == "loop":
            sampled = self.sampling.long_enough(table, self.num_frames)
        numbers = np.array(self.sampling.numbers(sampled, self.num_frames, clip, clips=self.clips))
        numbers %= table.count
        if mirrored:
            numbers = table.count - 1 - numbers[::-1]
        if record.backwards:
            numbers = table.count - 1 - numbers
        return reordered((first + numbers).tolist(), self.order)


def full_key(item: Key | int, *, training: bool) -> Key:
    """Return the key of an item of a sampler; to an index alone, of a sampler of others, an epoch is added.

    In training the epoch is drawn from PyTorch's global generator, so that each pass has other clips; else it is 0.
    """
    if isinstance(item, tuple):
        return item
    return (int(torch.randint(2**31, ())) if training else 0, int(item))


def _chosen(frames: Frames, available: list[int], numbers: list[int]) -> Frames:
    """Return the frames of some numbers, from decoded frames whose numbers ``available`` gives in ascending order."""
    return frames[np.searchsorted(available, numbers)]


def reordered(numbers: list[int], order: FrameOrder) -> list[int]:
    """Reorder frames (kept, reversed, shuffled, or the middle one only), to test whether a model uses time."""
    if order == "reversed":
        return numbers[::-1]
    if order == "shuffled":
        return random.sample(numbers, len(numbers))
    if order == "static":
        return [numbers[len(numbers) // 2]] * len(numbers)
    return numbers
