"""Frame numbers of the time spans that PyTorchVideo's clip samplers choose."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor

from pytorchvideo.data.clip_sampling import RandomClipSampler, UniformClipSampler

from lit_video.video.decoding import FrameTable

Span = tuple[Fraction, Fraction]


def clip_span(length: Fraction, seconds: Fraction, clip: int, clips: int | None) -> Span:
    """A random clip of this length, or one of ``clips`` evenly spaced ones, from a video that lasts ``seconds``.

    Evenly spaced clips reach both ends of the video; a single one is the centre one. PyTorchVideo 0.1.5's
    ``ConstantClipsPerVideoSampler`` divides by n instead of n - 1 and never sees the end.
    """
    if clips is None:
        start = Fraction(RandomClipSampler(length)(0, seconds, {}).clip_start_sec)
    else:
        start = max(seconds - length, Fraction(0)) * (Fraction(clip, clips - 1) if clips > 1 else Fraction(1, 2))
    return start, start + length


def covering_spans(length: Fraction, seconds: Fraction) -> list[Span]:
    """Clips of this length that follow each other through a video, the last one moved back into it."""
    sampler, cut, last = UniformClipSampler(length, backpad_last=True), list[Span](), False
    while not last:
        start, end, _, _, last = sampler(cut[-1][1] if cut else 0, seconds, {})
        cut.append((Fraction(start), Fraction(end)))
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
