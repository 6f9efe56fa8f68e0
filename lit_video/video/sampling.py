"""Sampling of clips: the papers' ways to choose frames, and those of X-ViT's and TimeSformer's releases and PySlowFast.

Accuracy changes with the releases' samplings, because they differ from the papers: segments share their border frames;
the frames of "frames x rate" are ``(frames * rate - 1) / (frames - 1)`` apart; a single dense test clip begins at the
video's start instead of lying at its centre; the last window of a video is never tested.
"""

from __future__ import annotations  # a signature then shows names of types, such as Count

import random
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import numpy as np
import torch
from pytorchvideo.data.clip_sampling import RandomClipSampler

from lit_video.utils.arguments import Count, Positive, check_fields
from lit_video.utils.clip_shape import evenly
from lit_video.video.decoding import FrameTable, exact, looped

Span = tuple[Fraction, Fraction]  # start and end, in seconds from the first frame
LEAST_REMAINDER = Fraction(1, 10**6)  # in seconds; a shorter remainder of a video gets no clip


class Sampling(ABC):
    """Base class of samplings, which choose the frames of a clip."""

    #: True if a clip spans a number of frames, whatever their times
    counts_frames = False

    @abstractmethod
    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the ``num_frames`` frame numbers of one clip, ascending.

        A video that is too short repeats its last frame. In evaluation ``clip`` is the clip's number, from 0 to
        ``clips - 1``. In training ``clips`` is ``None``, and the clip is drawn from ``random``'s global stream.
        """

    def clip_seconds(self, table: FrameTable, num_frames: int) -> Fraction | None:
        """Return a clip's length in seconds; ``None`` if its frames are spread over the whole video."""
        return None

    def long_enough(self, table: FrameTable, num_frames: int) -> FrameTable:
        """Return the frame table, with the video repeated until a clip fits; a clip of the whole video always fits."""
        seconds = self.clip_seconds(table, num_frames)
        if self.counts_frames:
            table = replace(table, pts=(), shown=())
        return table if seconds is None else looped(table, seconds)

    def check(self, num_frames: int, clips: int) -> None:  # noqa: B027  # most samplings accept any numbers
        """Check that ``clips`` clips of ``num_frames`` frames can be cut."""


@dataclass(frozen=True)
class Dense(Sampling):
    """Clips that last ``seconds``: random in training, evenly spaced over the whole video in evaluation.

    A clip is cut into ``num_frames`` equal parts and takes the middle frame of each. So evenly spaced clips of a video
    played backwards show the same frames in reverse. A single clip is the centre clip.
    """

    seconds: Positive = 2.0

    def __post_init__(self) -> None:
        check_fields(self)

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        span = clip_span(self.clip_seconds(table, num_frames), table.seconds, clip, clips=clips)
        return frame_numbers(table, span, [0.5] * num_frames)

    def clip_seconds(self, table: FrameTable, num_frames: int) -> Fraction:
        """Return the clip's length in seconds."""
        return exact(self.seconds)


@dataclass(frozen=True)
class DenseStride(Sampling):
    """The papers' "frames x rate" (8x8, 16x4, 96x4): every ``stride``-th frame of a clip of ``frames * stride`` frames.

    The first frame is half a ``stride`` into the clip. Clips are placed as in :class:`Dense`. Frames are counted at the
    rate ``fps``, whatever the video's rate; with ``None``, the video's own frames are counted.
    """

    stride: Count
    fps: Positive | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def counts_frames(self) -> bool:  # type: ignore[override]
        """True if ``fps`` is ``None``."""
        return self.fps is None

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        if self.fps is not None:
            span = clip_span(self.clip_seconds(table, num_frames), table.seconds, clip, clips=clips)
            return frame_numbers(table, span, [0.5] * num_frames)

        # the span in frames instead of seconds
        length = Fraction(num_frames * self.stride)
        start, _ = clip_span(length, Fraction(table.count), clip, clips=clips)
        first = floor(start) + self.stride // 2
        numbers = first + self.stride * np.arange(num_frames)
        return np.minimum(numbers, table.count - 1).tolist()

    def clip_seconds(self, table: FrameTable, num_frames: int) -> Fraction:
        """Return the seconds of ``frames * stride`` frames at ``fps``, or at the video's own rate."""
        fps = table.count / table.seconds
        if self.fps is not None:
            fps = exact(self.fps)
        return num_frames * self.stride / fps


@dataclass(frozen=True)
class Segments(Sampling):
    """One frame of each of ``num_frames`` equal segments of the whole video.

    Training takes a random frame of a segment, validation the middle one, and test clip ``i`` the frame at
    ``(i + 0.5) / clips`` of a segment. Source: TSN, arXiv:1608.00859, section 3.1.
    """

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        shifts: list[float] = []
        for _ in range(num_frames):
            shifts.append(random.random() if clips is None else (clip + 0.5) / clips)
        return frame_numbers(table, (Fraction(0), table.seconds), shifts)


@dataclass(frozen=True)
class WholeVideo(Dense):
    """Consecutive clips of ``seconds`` from start to end of a long video, as on HowTo100M; in training a random clip.

    The last clip is moved back into the video. If a video has fewer clips than ``clips``, each is used (nearly) equally
    often; if it has more, evenly spaced ones are used. Set ``clips`` to cover the longest video (:meth:`covering`).
    """

    seconds: Positive = 8.0

    def covering(self, seconds: Fraction) -> list[Span]:
        """Return the clips that cover a video of this length, start and end in seconds."""
        length = exact(self.seconds)
        count = max(ceil((seconds - LEAST_REMAINDER) / length), 1)
        latest = max(seconds - length, Fraction(0))
        starts = [min(number * length, latest) for number in range(count)]
        return [(start, start + length) for start in starts]

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        if clips is None:
            return super().numbers(table, num_frames)

        covering = self.covering(table.seconds)
        index = (2 * clip + 1) * len(covering) // (2 * clips)  # at the middle of the clip's share of ``covering``
        return frame_numbers(table, covering[index], [0.5] * num_frames)


def clip_span(length: Fraction, seconds: Fraction, clip: int, *, clips: int | None) -> Span:
    """Return a random clip of this length, or one of ``clips`` evenly spaced from end to end of ``seconds``."""
    if clips is None:
        sampler = RandomClipSampler(length)
        start = Fraction(sampler(0, seconds, {}).clip_start_sec)
    else:
        start = max(seconds - length, Fraction(0)) * evenly(clip, clips)
    return start, start + length


def frame_numbers(table: FrameTable, span: Span, shifts: Sequence[float]) -> list[int]:
    """Divide a span into equal bins, and return for each bin the number of the frame that is shown at one moment in it.

    With moments in the middle of the bins, a video played backwards gives the same frames in reverse if the span is
    mirrored too. Beyond the video's end the last frame repeats.

    Args:
        table: frames of the video.
        span: start and end in seconds from the first frame.
        shifts: position of the moment in each bin, 0 to 1.
    """
    start, end = span
    step = (end - start) / len(shifts)
    half = table.seconds / 2
    centre = (start + end) / 2

    numbers: list[int] = []
    for position, shift in enumerate(shifts):
        moment = start + (position + Fraction(shift)) * step
        # Break ties symmetrically, so that a reversed video gives the reversed frames: a border of two frames takes the
        # frame nearer to the video's middle, and at this middle the frame nearer to the span's.
        takes_later = moment < half or (moment == half and moment <= centre)
        if table.times:
            time = table.times[0] + moment / table.time_base
            bisect = bisect_right if takes_later else bisect_left
            numbers.append(bisect(table.times, time) - 1)
        else:
            place = moment * table.count / table.seconds
            number = floor(place) if takes_later else ceil(place) - 1
            numbers.append(min(number, table.count - 1))
    return numbers


@dataclass(frozen=True)
class ReleasedSegments(Sampling):
    """Sampling of X-ViT's and TimeSformer's releases on Something-Something v2 (X-ViT's code has 2 clips, its paper 1).

    Training takes a random frame of each segment. Test clip 0 takes the middle frame of each segment (rounded down),
    clip 1 the first frame, clip 2 the last. Segment ``i`` begins at frame ``round(i * (table.count - 1) / frames)``.
    """

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        self.check(num_frames, clips or 1)
        borders = [round((table.count - 1) / num_frames * number) for number in range(num_frames + 1)]
        segments = [*pairwise(borders)]
        if clips is None:
            return [random.randint(first, last) for first, last in segments]
        return [((first + last) // 2, first, last)[clip] for first, last in segments]

    def check(self, num_frames: int, clips: int) -> None:
        """Refuse more than three test clips."""
        if clips > 3:
            raise ValueError(f"test_clips is {clips}, ReleasedSegments has 3 at most")


@dataclass(frozen=True)
class ReleasedDense(DenseStride):
    """Sampling on Kinetics of PySlowFast, X-ViT and TimeSformer; validation takes clip 0 (X-ViT's code: a random clip).

    ``stride`` is the rate in the papers' "frames x rate". With ``fps`` (30 in PySlowFast and TimeSformer's release) a
    clip lasts as long as in a video of that frame rate; with ``None``, ``stride`` counts the video's own frames.
    """

    stride: Count = 16
    fps: Positive | None = None
    counts_frames = True  # holds with ``fps`` too

    def numbers(self, table: FrameTable, num_frames: int, clip: int = 0, *, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        # the release counts at 30 frames per second; another ``fps`` rescales the video's rate first. Without 30 twice
        # the result would be rounded otherwise
        rate = 1.0
        if self.fps is not None:
            rate = float(table.count / table.seconds) * 30 / self.fps / 30
        window = num_frames * self.stride * rate
        slack = max(table.count - window, 0)
        start = random.uniform(0, slack) if clips is None else slack * clip / clips

        # float32 as in the release: rounding near whole numbers decides the indices
        positions = torch.linspace(start, start + window - 1, num_frames)
        return positions.clamp(0, table.count - 1).int().tolist()
