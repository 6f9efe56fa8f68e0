"""The samplings of X-ViT's release, index by index, for its checkpoints.

They differ from the papers' in ways that move accuracy: segments overlap in their borders, "frames x rate" steps
``(frames * rate - 1) / (frames - 1)`` frames, a single dense test clip is the first and not the centre one, and the
last window of a video is never tested.
"""

import random
from dataclasses import dataclass
from itertools import pairwise

import torch

from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import DenseStride, Sampling


def segment_ranges(video_length: int, num_frames: int) -> list[tuple[int, int]]:
    """First and last frame number of each segment, both inclusive: borders ``round(i * (length - 1) / frames)``.

    A half goes to the even number. Neighbours share their border.
    """
    borders = [round((video_length - 1) / num_frames * i) for i in range(num_frames + 1)]
    return list(pairwise(borders))


def segment_index(video_length: int, num_frames: int, clip: int | None = 0) -> list[int]:
    """Frame numbers on Something-Something v2.

    ``clip`` is 0 for the middles of the segments, rounded down (validation, and the first test clip), 1 for their first
    frames, 2 for their last ones; ``None`` for a random frame of each (training).
    """
    ranges = segment_ranges(video_length, num_frames)
    if clip is None:
        return [random.randint(low, high) for low, high in ranges]
    return [((low + high) // 2, low, high)[clip] for low, high in ranges]


def dense_index(
    video_length: int,
    num_frames: int,
    sampling_rate: int,
    clip: int | None = 0,
    num_clips: int = 1,
    fps: float | None = None,
) -> list[int]:
    """Frame numbers on Kinetics: ``sampling_rate`` is the "rate" of frames x rate.

    ``clip`` counts test clips from 0; ``None`` is a random one (training). ``fps`` is the video's, where the window is
    to last as long as it does at 30 fps; ``None`` counts frames.
    """
    window = num_frames * sampling_rate * (1.0 if fps is None else fps / 30)
    slack = max(video_length - window, 0)
    start = random.uniform(0, slack) if clip is None else slack * clip / num_clips
    # float32, as there: which side of a whole number a value falls on is part of the result
    index = torch.linspace(start, start + window - 1, num_frames).clamp(0, video_length - 1)
    return [int(i) for i in index]


@dataclass(frozen=True)
class ReleasedSegments(Sampling):
    """:func:`segment_index`: X-ViT's release on Something-Something v2; its test takes 2 clips, the paper's 1."""

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        self.check(frames, clips or 1)
        return segment_index(table.count, frames, None if clips is None else clip)

    def check(self, frames: int, clips: int) -> None:
        """A segment has a middle, a first and a last frame."""
        if clips > 3:
            raise ValueError(f"test_clips is {clips}, ReleasedSegments has 3 at most")


@dataclass(frozen=True)
class ReleasedDense(DenseStride):
    """:func:`dense_index`: X-ViT's release on Kinetics.

    There validation draws random clips; here it takes the first test clip.

    Args:
        stride: the "rate" of frames x rate; 16 in the released configurations.
        fps: let a clip of any video last as long as it does at this rate (the release's is 30, where it is given a file
            of the videos' rates); ``None`` to count the video's own frames.
    """

    stride: int = 16
    fps: float | None = None
    counts_frames = True  # whatever the rate

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        # the release has 30 only: another rate is the same as another rate of the video
        fps = None if self.fps is None else float(table.count / table.seconds) * 30 / self.fps
        return dense_index(table.count, frames, self.stride, None if clips is None else clip, clips or 1, fps)
