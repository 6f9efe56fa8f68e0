"""Sampling of clips: the papers' ways to choose frames."""

import random
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf

from pytorchvideo.data.clip_sampling import RandomClipSampler

from lit_video.video.decoding import FrameTable, exact, looped

Span = tuple[Fraction, Fraction]  # start and end, in seconds from the first frame


class Sampling(ABC):
    """Base class of samplings: the frames of a clip of a video."""

    #: True if a clip lasts a number of frames, at any times
    counts_frames = False

    @abstractmethod
    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the ``frames`` numbers of one clip, ascending; a video that is too short repeats its last frame.

        An evaluated video is cut into ``clips``, and ``clip`` is the number of one of them, from 0. In training
        ``clips`` is ``None``: the clip is drawn from ``random``'s global stream.
        """

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction | None:
        """Return the seconds of a clip of this video; ``None`` if its frames are spread over the whole video."""
        return None

    def long_enough(self, table: FrameTable, frames: int) -> FrameTable:
        """Return the table of a video repeated until a clip fits; unchanged for clips that fit any video."""
        seconds = self.clip_seconds(table, frames)
        if self.counts_frames:
            table = replace(table, pts=(), shown=())
        return table if seconds is None else looped(table, seconds)

    def check(self, frames: int, clips: int) -> None:  # noqa: B027  # most samplings cut any clip
        """Check that clips of so many frames, and so many clips, can be cut."""


@dataclass(frozen=True)
class Dense(Sampling):
    """A clip of ``seconds``: a random one in training, evenly spaced ones that reach both ends in evaluation.

    A frame lies in the middle of each of ``frames`` equal parts. So clips mirror: the evenly spaced clips of a video
    played backwards show the frames backwards. A single clip is the centre one.
    """

    seconds: float = 2.0

    def __post_init__(self) -> None:
        positive(seconds=self.seconds)

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        span = clip_span(self.clip_seconds(table, frames), table.seconds, clip, clips)
        return frame_numbers(table, span, [0.5] * frames)

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction:
        """Return the clip's length in seconds."""
        return exact(self.seconds)


@dataclass(frozen=True)
class DenseStride(Sampling):
    """The papers' "frames x rate" (8x8, 16x4, 96x4): every ``stride``-th frame of a clip of ``frames * stride`` frames.

    A clip begins with half a ``stride``; random and evenly spaced clips are those of :class:`Dense`. ``fps`` is the
    rate at which frames are counted, in time; ``None`` counts the video's own frames.
    """

    stride: int
    fps: float | None = None

    def __post_init__(self) -> None:
        positive(stride=self.stride, fps=self.fps)

    @property
    def counts_frames(self) -> bool:  # type: ignore[override]
        """True if there is no rate."""
        return self.fps is None

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        if self.fps is not None:
            span = clip_span(self.clip_seconds(table, frames), table.seconds, clip, clips)
            return frame_numbers(table, span, [0.5] * frames)
        # counts frames for seconds
        start, _ = clip_span(Fraction(frames * self.stride), Fraction(table.count), clip, clips)
        first = floor(start) + self.stride // 2
        return [min(first + i * self.stride, table.count - 1) for i in range(frames)]

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction:
        """Return the seconds of ``frames * stride`` frames at ``fps``, or at the video's own rate."""
        fps = table.count / table.seconds if self.fps is None else exact(self.fps)
        return frames * self.stride / fps


@dataclass(frozen=True)
class Segments(Sampling):
    """One frame of each of ``frames`` equal segments of the whole video: a random one in training, else the middle one.

    Several clips of an evaluated video share each segment evenly. Source: TSN, arXiv:1608.00859, section 3.1.
    """

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        shifts = [(clip + 0.5) / clips] * frames if clips else [random.random() for _ in range(frames)]
        return frame_numbers(table, (Fraction(0), table.seconds), shifts)


@dataclass(frozen=True)
class WholeVideo(Dense):
    """Clips of ``seconds`` that follow each other from the start of a long video to its end, as on HowTo100M.

    The last one is moved back into the video. Where a video has fewer of them than ``clips``, each comes (nearly)
    equally often; where it has more, the choice is even: set as many as cover the longest video (:meth:`covering`).
    In training one random clip.
    """

    seconds: float = 8.0

    def covering(self, seconds: Fraction) -> list[Span]:
        """Return the clips that cover a video of this length, start and end in seconds."""
        length, shorter = exact(self.seconds), Fraction(1, 10**6)  # a shorter rest is no clip
        count, latest = max(ceil((seconds - shorter) / length), 1), max(seconds - length, Fraction(0))
        return [(start, start + length) for start in (min(i * length, latest) for i in range(count))]

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Return the frame numbers of one clip, see :class:`Sampling`."""
        if clips is None:
            return super().numbers(table, frames)
        covering = self.covering(table.seconds)
        return frame_numbers(table, covering[(2 * clip + 1) * len(covering) // (2 * clips)], [0.5] * frames)


def positive(**values: float | None) -> None:
    """Refuse an argument that is zero, less, or no number."""
    for name, value in values.items():
        if value is not None and not 0 < value < inf:
            raise ValueError(f"{name} is {value}, expected more than 0")


def clip_span(length: Fraction, seconds: Fraction, clip: int, clips: int | None) -> Span:
    """Return a random clip of this length, or one of ``clips`` evenly spaced ones, from a video of ``seconds``.

    Evenly spaced clips reach both ends, unlike those of PyTorchVideo 0.1.5; a single one is the centre one.
    """
    if clips is None:
        start = Fraction(RandomClipSampler(length)(0, seconds, {}).clip_start_sec)
    else:
        start = max(seconds - length, Fraction(0)) * (Fraction(clip, clips - 1) if clips > 1 else Fraction(1, 2))
    return start, start + length


def frame_numbers(table: FrameTable, span: Span, shifts: Sequence[float]) -> list[int]:
    """Return the frame shown at one moment of each of equal bins of the span, in seconds from the first frame.

    ``shifts`` are the moments' positions in their bins, 0 to 1. At 0.5 the choice mirrors: the mirrored span of the
    video played backwards has the same frames in reverse. Beyond the end the last frame repeats.
    """
    step = (span[1] - span[0]) / len(shifts)
    moments = [span[0] + (i + Fraction(shift)) * step for i, shift in enumerate(shifts)]
    # between two frames the one nearer to the middle of the video, then of the span: so the choice mirrors
    half, middle = table.seconds / 2, (span[0] + span[1]) / 2
    return [_on_show(table, m, (m - half, m - middle) <= (Fraction(0), Fraction(0))) for m in moments]


def _on_show(table: FrameTable, moment: Fraction, later: bool) -> int:
    """Return the frame number at a moment in seconds; the last one beyond the end; between two the later or earlier."""
    if not table.times:
        position = moment * table.count / table.seconds
        return min(floor(position) if later else ceil(position) - 1, table.count - 1)
    time = table.times[0] + moment / table.time_base
    return (bisect_right(table.times, time) if later else bisect_left(table.times, time)) - 1
