"""Sampling of clips: the papers' ways to choose frames, over spans that PyTorchVideo's clip samplers choose."""

import random
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf

from pytorchvideo.data.clip_sampling import RandomClipSampler

from lit_video.utils.clip_shape import uniform_frames
from lit_video.video.decoding import FrameTable, exact, looped

Span = tuple[Fraction, Fraction]  # start and end, in seconds from the first frame


class Sampling(ABC):
    """Base class of samplings: the frames of a clip of a video."""

    #: True if a clip lasts a number of frames, at any times
    counts_frames = False

    @abstractmethod
    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip.

        Args:
            table: the video's frames.
            frames: frames of a clip.
            clip: which of the ``clips`` of an evaluated video, from 0.
            clips: how many clips an evaluated video is cut into; ``None`` in training, where a clip is drawn from
                ``random``'s global stream (:func:`~lit_video.video.seeding.seeded`).

        Returns:
            ``frames`` numbers, ascending; a video that is too short repeats its last frame.
        """

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction | None:
        """Return the seconds of a clip of this video; ``None`` if its frames are spread over the whole video."""
        return None

    def stream_numbers(self, table: FrameTable, frames: int) -> list[int]:
        """Frame numbers of a video that is played to a model as a stream, at the rate of the ``frames`` in a clip.

        They are those of one clip as long as the video: ascending, repeated where the rate is higher than the video's.
        """
        raise ValueError(f"{type(self).__name__}, the sampling of its clips, sets no rate for the frames of a stream")

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

    A frame lies in the middle of each of ``frames`` equal parts, so clips mirror: the evenly spaced clips of a video
    that is played backwards show the frames backwards. A single clip is the centre one.

    Args:
        seconds: length of a clip.
    """

    seconds: float = 2.0

    def __post_init__(self) -> None:
        positive(seconds=self.seconds)

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        return _dense(table, self.clip_seconds(table, frames), frames, clip, clips)

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction:
        """Return the clip's length in seconds."""
        return exact(self.seconds)

    def stream_numbers(self, table: FrameTable, frames: int) -> list[int]:
        """Return the frame shown in the middle of every part, see :class:`Sampling`."""
        return _even_numbers(table, self.clip_seconds(table, frames) / frames)


@dataclass(frozen=True)
class DenseStride(Sampling):
    """The papers' "frames x rate" (8x8, 16x4, 96x4): every ``stride``-th frame of a clip of ``frames * stride`` frames.

    A clip begins with half a ``stride``; random and evenly spaced clips are those of :class:`Dense`.

    Args:
        stride: frames from one to the next.
        fps: rate at which frames are counted, in time; ``None`` to count the video's own frames.
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
        """Frame numbers of one clip, see :class:`Sampling`."""
        if self.fps is not None:
            return _dense(table, self.clip_seconds(table, frames), frames, clip, clips)
        # counts frames for seconds
        start, _ = clip_span(Fraction(frames * self.stride), Fraction(table.count), clip, clips)
        first = floor(start) + self.stride // 2
        return [min(first + i * self.stride, table.count - 1) for i in range(frames)]

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction:
        """Return the seconds of ``frames * stride`` frames at ``fps``, or at the video's own rate."""
        fps = table.count / table.seconds if self.fps is None else exact(self.fps)
        return frames * self.stride / fps

    def stream_numbers(self, table: FrameTable, frames: int) -> list[int]:
        """Return every ``stride``-th frame, see :class:`Sampling`."""
        if self.fps is not None:
            return _even_numbers(table, self.clip_seconds(table, frames) / frames)
        return [*range(self.stride // 2, table.count, self.stride)] or [table.count - 1]


@dataclass(frozen=True)
class Segments(Sampling):
    """One frame of each of ``frames`` equal segments of the whole video: a random one in training, else the middle one.

    Several clips of an evaluated video share each segment evenly. Source: TSN, arXiv:1608.00859, section 3.1.
    """

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        shifts = [(clip + 0.5) / clips] * frames if clips else [random.random() for _ in range(frames)]
        return frame_numbers(table, (Fraction(0), table.seconds), shifts)


@dataclass(frozen=True)
class Uniform(Sampling):
    """ViViT's uniform frame sampling: ``frames`` spread evenly inside a dense clip of ``pool`` ones, without its ends.

    These are the frames that a model with ``sampled_frames: frames`` keeps of a clip of ``pool`` frames
    (:func:`~lit_video.utils.clip_shape.uniform_frames`: number ``round(k * pool / (frames + 1))`` for k = 1, 2, ...);
    here the others are not even decoded, and the model takes all of the clip.
    Source: arXiv:2103.15691, section 3.2; pool and stride are those of the release on Kinetics-400 (32 frames x 2).

    Args:
        pool: frames of the dense clip (:class:`DenseStride`).
        stride: stride of the dense clip.
    """

    pool: int = 32
    stride: int = 2
    counts_frames = True

    def __post_init__(self) -> None:
        positive(pool=self.pool, stride=self.stride)

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        self.check(frames, clips or 1)
        pool = DenseStride(self.stride).numbers(table, self.pool, clip, clips)
        return [pool[i] for i in uniform_frames(self.pool, frames)]

    def clip_seconds(self, table: FrameTable, frames: int) -> Fraction:
        """Return the seconds of the dense clip."""
        return DenseStride(self.stride).clip_seconds(table, self.pool)

    def check(self, frames: int, clips: int) -> None:
        """Check that a clip has no more frames than the pool."""
        if frames > self.pool:
            raise ValueError(f"sampling has a pool of {self.pool} frames, fewer than a clip's {frames}")


@dataclass(frozen=True)
class WholeVideo(Dense):
    """Clips of ``seconds`` that follow each other from the start of a long video to its end, as on HowTo100M.

    The clips are those of PyTorchVideo's ``UniformClipSampler``, the last one moved back into the video. For a video
    with fewer of them than ``clips`` each comes (nearly) equally often; of one with more, an even choice: set
    as many as cover the longest video (:meth:`covering`). In training one random clip.

    Args:
        seconds: length of a clip.
    """

    seconds: float = 8.0

    def covering(self, seconds: Fraction) -> list[Span]:
        """Return the clips that cover a video of this length, start and end in seconds."""
        length, shorter = exact(self.seconds), Fraction(1, 10**6)  # a shorter rest is no clip
        count, latest = max(ceil((seconds - shorter) / length), 1), max(seconds - length, Fraction(0))
        return [(start, start + length) for start in (min(i * length, latest) for i in range(count))]

    def numbers(self, table: FrameTable, frames: int, clip: int = 0, clips: int | None = None) -> list[int]:
        """Frame numbers of one clip, see :class:`Sampling`."""
        if clips is None:
            return super().numbers(table, frames)
        covering = self.covering(table.seconds)
        return frame_numbers(table, covering[(2 * clip + 1) * len(covering) // (2 * clips)], [0.5] * frames)


def _even_numbers(table: FrameTable, step: Fraction) -> list[int]:
    """Return the frames shown in the middle of steps of so many seconds, from the first frame on."""
    count = max(ceil(table.seconds / step - Fraction(1, 2)), 1)
    return [_on_show(table, (i + Fraction(1, 2)) * step, later=True) for i in range(count)]


def _dense(table: FrameTable, length: Fraction, frames: int, clip: int, clips: int | None) -> list[int]:
    """Return the middle frames of equal parts of a random clip, or of one of evenly spaced clips."""
    return frame_numbers(table, clip_span(length, table.seconds, clip, clips), [0.5] * frames)


def positive(**values: float | None) -> None:
    """Refuse an argument that is zero, less, or no number."""
    for name, value in values.items():
        if value is not None and not 0 < value < inf:
            raise ValueError(f"{name} is {value}, expected more than 0")


def clip_span(length: Fraction, seconds: Fraction, clip: int, clips: int | None) -> Span:
    """Return a random clip of this length, or one of ``clips`` evenly spaced ones, from a video of ``seconds``.

    Evenly spaced clips reach both ends of the video; a single one is the centre one. PyTorchVideo 0.1.5's
    ``ConstantClipsPerVideoSampler`` divides by n instead of n - 1 and never sees the end.
    """
    if clips is None:
        start = Fraction(RandomClipSampler(length)(0, seconds, {}).clip_start_sec)
    else:
        start = max(seconds - length, Fraction(0)) * (Fraction(clip, clips - 1) if clips > 1 else Fraction(1, 2))
    return start, start + length


def frame_numbers(table: FrameTable, span: Span, shifts: Sequence[float]) -> list[int]:
    """Return the frame shown at one moment of each of equal bins of the span.

    With moments in the middle of the bins the choice mirrors with the span: playing the video backwards and mirroring
    the span chooses the same frames in reverse.

    The span is in seconds from the video's first frame; ``shifts`` are the moments' positions in their bins, 0 to 1.
    Beyond the end the last frame repeats.
    """
    step = (span[1] - span[0]) / len(shifts)
    moments = [span[0] + (i + Fraction(shift)) * step for i, shift in enumerate(shifts)]
    # between two frames the one nearer to the middle of the video, then of the span: so the choice mirrors
    half, middle = table.seconds / 2, (span[0] + span[1]) / 2
    return [_on_show(table, m, (m - half, m - middle) <= (Fraction(0), Fraction(0))) for m in moments]


def _on_show(table: FrameTable, moment: Fraction, later: bool) -> int:
    """Return the frame number at a moment in seconds; the last one beyond the end; between two the later or earlier."""
    if not table.times:
        place = moment * table.count / table.seconds
        return min(floor(place) if later else ceil(place) - 1, table.count - 1)
    place = table.times[0] + moment / table.time_base
    return (bisect_right(table.times, place) if later else bisect_left(table.times, place)) - 1
