"""Frame numbers of the time spans that PyTorchVideo's clip samplers choose."""

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from pytorchvideo.data.clip_sampling import ClipInfo, ClipSampler

from lit_video.video.decoding import FrameTable

Span = tuple[Fraction, Fraction]


class EvenClips(ClipSampler):  # type: ignore[misc]  # PyTorchVideo has no types
    """Evenly spaced clips that reach both ends of the video; a single clip is the centre one.

    PyTorchVideo 0.1.5's ``ConstantClipsPerVideoSampler`` divides by n instead of n - 1 and never sees the end.
    """

    def __init__(self, clip_duration: Fraction, clips: int) -> None:
        super().__init__(clip_duration)
        self._seconds = clip_duration
        self._clips = clips
        self._next = 0

    def __call__(self, last_clip_time: float | None, video_duration: Fraction, annotation: dict[str, Any]) -> ClipInfo:
        """The next clip, PyTorchVideo's interface."""
        index, self._next = self._next, self._next + 1
        share = Fraction(index, self._clips - 1) if self._clips > 1 else Fraction(1, 2)
        start = max(video_duration - self._seconds, Fraction(0)) * share
        return ClipInfo(start, start + self._seconds, index, 0, self._next >= self._clips)

    def reset(self) -> None:
        """Start over with the next video."""
        self._next = 0


def spans(sampler: ClipSampler, seconds: Fraction) -> list[Span]:
    """Every clip that a PyTorchVideo sampler cuts from a video of this length; the sampler itself stays untouched."""
    sampler = copy.copy(sampler)
    sampler.reset()
    cut: list[Span] = []
    last = False
    while not last:
        info = sampler(cut[-1][1] if cut else 0, seconds, {})
        cut.append((Fraction(info.clip_start_sec), Fraction(info.clip_end_sec)))
        last = info.is_last_clip
    return cut


def frame_numbers(table: FrameTable, span: Span, shifts: Sequence[float]) -> list[int]:
    """The frame on show at one moment of each of equal bins of the span.

    With moments in the middle of the bins the choice mirrors with the span: playing the video backwards and mirroring
    the span chooses the same frames in reverse.

    The span is in seconds from the video's first frame; ``shifts`` are the moments' positions in their bins, 0 to 1.

    Returns:
        Frame numbers, ascending; beyond the end the last frame repeats.
    """
    step = (span[1] - span[0]) / len(shifts)
    moments = [span[0] + (i + Fraction(shift)) * step for i, shift in enumerate(shifts)]
    # between two frames the one nearer to the middle of the video, then of the span: so the choice mirrors
    half, middle = table.seconds / 2, (span[0] + span[1]) / 2
    return [_on_show(table, m, (m - half, m - middle) <= (Fraction(0), Fraction(0))) for m in moments]


def numbers_on_show(table: FrameTable, moments: Sequence[Fraction]) -> list[int]:
    """Numbers of the frames on show at moments in seconds from the first frame; the last one beyond the end."""
    return [_on_show(table, moment, later=True) for moment in moments]


def _on_show(table: FrameTable, moment: Fraction, later: bool) -> int:
    """Number of the frame at a moment; exactly between two frames the later or the earlier one."""
    if not table.times:
        place = moment * table.count / table.seconds
        return min(floor(place) if later else ceil(place) - 1, table.count - 1)
    place = table.times[0] + moment / table.time_base
    return (bisect_right(table.times, place) if later else bisect_left(table.times, place)) - 1
