"""Which frames make a clip: PyTorchVideo's clip samplers choose the span, bins of equal length the frames in it."""

from __future__ import annotations

import copy
import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from math import ceil, floor
from typing import Any, Literal

import torch
from pytorchvideo.data.clip_sampling import ClipInfo, ClipSampler, RandomClipSampler

from lit_video.datamodules.decoding import FrameTable

Span = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Sampling:
    """How clips are cut from a video.

    Args:
        kind: ``dense`` cuts a span of ``seconds`` (random in training, evenly spaced in evaluation); ``segments``
            spreads the frames over the whole video (a random frame of each segment in training, the middle in test).
        seconds: length of a dense clip; a shorter video repeats its last frame.
    """

    kind: Literal["dense", "segments"] = "dense"
    seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise ValueError(f"seconds is {self.seconds}, expected more than 0")


class EvenClips(ClipSampler):  # type: ignore[misc]  # PyTorchVideo has no types
    """Evenly spaced clips that reach both ends of the video; a single clip is the centre one.

    PyTorchVideo 0.1.5's ``ConstantClipsPerVideoSampler`` divides by n instead of n - 1 and never sees the end.
    """

    def __init__(self, clip_duration: Fraction, clips: int) -> None:
        super().__init__(clip_duration)
        self._clips = clips
        self._next = 0

    def __call__(self, last_clip_time: float | None, video_duration: Fraction, annotation: dict[str, Any]) -> ClipInfo:
        """The next clip, PyTorchVideo's interface."""
        index, self._next = self._next, self._next + 1
        share = Fraction(index, self._clips - 1) if self._clips > 1 else Fraction(1, 2)
        start = max(video_duration - self._clip_duration, Fraction(0)) * share
        return ClipInfo(start, start + self._clip_duration, index, 0, self._next >= self._clips)

    def reset(self) -> None:
        """Start over with the next video."""
        self._next = 0


def spans(sampler: ClipSampler, seconds: Fraction) -> list[Span]:
    """Every clip that a PyTorchVideo sampler cuts from a video of this length; the sampler itself stays untouched."""
    sampler = copy.copy(sampler)
    sampler.reset()
    found: list[Span] = []
    last = False
    while not last:
        info = sampler(found[-1][1] if found else 0, seconds, {})
        found.append((Fraction(info.clip_start_sec), Fraction(info.clip_end_sec)))
        last = info.is_last_clip
    return found


def clip_spans(sampling: Sampling, seconds: Fraction, clips: int | None) -> list[Span]:
    """The spans of a video's clips: one at random in training (``clips`` is None), else ``clips`` even ones."""
    if sampling.kind == "segments":
        return [(Fraction(0), seconds)] * (clips or 1)
    length = Fraction(sampling.seconds).limit_denominator(10**6)
    return spans(RandomClipSampler(length) if clips is None else EvenClips(length, clips), seconds)


def bin_shifts(sampling: Sampling, frames: int, clip: int, clips: int | None) -> list[float]:
    """Position of the chosen moment in each bin, 0 to 1: the middle, but for training on segments a random one.

    Several test clips of a segmented video share each bin evenly.
    """
    if sampling.kind == "segments" and clips is None:
        return [random.random() for _ in range(frames)]
    if sampling.kind == "segments":
        return [(clip + 0.5) / (clips or 1)] * frames
    return [0.5] * frames


def frame_numbers(table: FrameTable, span: Span, shifts: Sequence[float]) -> list[int]:
    """The frame on show at one moment of each of equal bins of the span.

    With moments in the middle of the bins the choice mirrors with the span: playing the video backwards and mirroring
    the span chooses the same frames in reverse.

    Args:
        table: the video's frames.
        span: start and end in seconds from the video's first frame.
        shifts: position of the moment in its bin, from 0 to 1, for each bin.

    Returns:
        Frame numbers, ascending; beyond the end the last frame repeats.
    """
    step = (span[1] - span[0]) / len(shifts)
    moments = [span[0] + (i + Fraction(shift)) * step for i, shift in enumerate(shifts)]
    # between two frames the one nearer to the middle of the video, then of the span: so the choice mirrors
    half, middle = table.seconds / 2, (span[0] + span[1]) / 2
    return [_on_show(table, m, (m - half, m - middle) <= (Fraction(0), Fraction(0))) for m in moments]


def _on_show(table: FrameTable, moment: Fraction, later: bool) -> int:
    """Number of the frame at a moment; exactly between two frames the later or the earlier one."""
    if not table.pts:
        place = moment * table.count / table.seconds
        return min(floor(place) if later else ceil(place) - 1, table.count - 1)
    place = table.pts[0] + moment / table.time_base
    return (bisect_right(table.pts, place) if later else bisect_left(table.pts, place)) - 1


def digest(*key: object) -> int:
    """A 63-bit number that depends on every part of the key, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little") >> 1


@contextmanager
def seeded(*key: object) -> Iterator[None]:
    """Draw from ``random`` and ``torch`` as a function of the key alone, leaving their streams as they were.

    PyTorchVideo's samplers and torchvision's transforms know only these global streams.
    """
    python, pytorch = random.getstate(), torch.get_rng_state()
    seed = digest(*key)
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(pytorch)
