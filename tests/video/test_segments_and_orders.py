"""Test segments of long videos, and clips whose frames are played in another order."""

from array import array
from bisect import bisect_right
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from lit_video.datamodules import Dense, DenseStride, ReleasedDense, ReleasedSegments, Segments, WholeVideo
from lit_video.datamodules.drawing import encode
from lit_video.video.augmentation import EvaluationViews
from lit_video.video.clips import ClipDataset, VideoRecord
from lit_video.video.decoding import DecodeError, decode, segment
from lit_video.video.decoding.table_of_frames import FrameTable, without_jumps
from lit_video.video.seeding import seeded

COUNT, FPS = 60, 10
SAMPLINGS = [Dense(1.0), Dense(9.0), DenseStride(2), DenseStride(2, fps=5), Segments(), WholeVideo(1.0)]
SAMPLINGS += [ReleasedSegments(), ReleasedDense(2)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Video of six seconds whose every frame is brighter than the one before."""
    path = tmp_path_factory.mktemp("segments") / "video.mp4"
    levels = (20 + 3 * np.arange(COUNT)).astype(np.uint8)
    encode(path, np.broadcast_to(levels[:, None, None, None], (COUNT, 32, 48, 3)).copy(), FPS)
    return path


def dataset(path, sampling=None, start=None, end=None, num_frames=4, clips=2, **options):
    return ClipDataset(
        [VideoRecord(path, 0, start=start, end=end)] * 3,
        sampling or Dense(1.0),
        num_frames,
        view=EvaluationViews(1, 16),
        seed=0,
        clips=clips,
        **options,
    )


def shown(sample):
    """Return the frame numbers of a clip, from their brightness."""
    return ((sample["clip"][0].float().mean((1, 2, 3)) - 20) / 3).round().int().tolist()


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize(
    ("start", "end", "first", "last"), [(2.0, 4.0, 20, 39), (4.55, None, 46, 59), (None, 0.5, 0, 4)]
)
@pytest.mark.parametrize("clips", [None, 1, 2])
def test_frames_of_a_segment_lie_in_it(path, sampling, start, end, first, last, clips):
    data = dataset(path, sampling, start, end, clips=clips)
    for clip in range(clips or 1):
        with seeded("segment", clip):
            numbers = data.numbers(data.records[0], clip)
        assert len(numbers) == 4
        assert first <= min(numbers) <= max(numbers) <= last


@pytest.mark.parametrize("number", range(1, COUNT))
def test_a_segment_begins_with_the_frame_that_is_shown_then_and_ends_before_the_one_shown_at_its_end(path, number):
    """Use tenths of a second, most of which are not exact as floats."""
    table = VideoRecord(path, 0).table()
    first, _ = segment(path, table, start=number / FPS, end=None)
    start, part = segment(path, table, start=None, end=number / FPS)
    assert (first, start, part.count) == (number, 0, number)


def test_a_segment_shows_the_pixels_of_the_whole_videos_frames(path):
    data = dataset(path, Dense(1.0), 2.0, 5.0)
    for clip in range(2):
        numbers = data.numbers(data.records[0], clip)
        expected = EvaluationViews(1, 16)(decode(path, numbers))
        assert torch.equal(data[(0, clip)]["clip"], expected)
        assert shown(data[(0, clip)]) == numbers


def test_a_segment_shorter_than_a_frame_is_a_frame(path):
    data = dataset(path, Segments(), 3.01, 3.02, clips=1)
    assert len(set(data.numbers(data.records[0], 0))) == 1


def paused(*, pause):
    """Return the table of a video with a frame every 0.1 s, and two pauses of some seconds: at 2 s and 2 s later."""
    times = [100 * number for number in range(60)]
    pts = array("q", [time + 1000 * pause * (time // 2000) for time in times])
    sampled = without_jumps(pts, Fraction(1, 1000))
    return FrameTable(
        pts=pts,
        time_base=Fraction(1, 1000),
        keyframes=(),
        count=len(pts),
        seconds=Fraction(sampled[-1] - sampled[0] + 100, 1000),
        height=1,
        width=1,
        shown=() if sampled is pts else sampled,
    )


@pytest.mark.parametrize("pause", [1, 8, 30])
@pytest.mark.parametrize(("start", "end"), [(1.0, 1.5), (2.5, 3.5), (0.5, 1.95)])
def test_a_segment_of_a_video_with_pauses_shows_the_frames_of_its_seconds(pause, start, end):
    table = paused(pause=pause)
    first, part = segment(Path("x"), table, start=start, end=end)
    numbers = Segments().numbers(part, 8, 0, clips=1)
    moments = [1000 * (start + (part_number + 0.5) * (end - start) / 8) for part_number in range(8)]
    assert [first + number for number in numbers] == [bisect_right(table.pts, moment) - 1 for moment in moments]


@pytest.mark.parametrize("pause", [8, 30])
def test_a_segment_in_a_pause_is_the_held_frame_and_one_after_it_counts_the_pause(pause):
    table = paused(pause=pause)
    held, part = segment(Path("x"), table, start=3.0, end=6.0)
    assert (held, part.count, part.seconds) == (19, 1, 3)

    after, part = segment(Path("x"), table, start=2.0 + pause, end=3.0 + pause)
    assert (after, part.count, part.seconds) == (20, 10, 1)

    whole, part = segment(Path("x"), table, start=0.0, end=None)
    assert (whole, part.count, part.seconds) == (0, table.count, table.seconds)
    with pytest.raises(DecodeError, match=f"in a video of {6 + 2 * pause}.00 s"):
        segment(Path("x"), table, start=6.0 + 2 * pause, end=None)


def test_a_segment_across_a_long_pause_is_sampled_without_it():
    first, part = segment(Path("x"), paused(pause=30), start=1.0, end=33.0)
    assert (first, part.count, float(part.seconds)) == (10, 20, pytest.approx(2.0))
    assert Segments().numbers(part, 4, 0, clips=1) == [2, 7, 12, 17]


@pytest.mark.parametrize(("start", "end"), [(6.0, None), (-1.0, 2.0), (3.0, 2.0), (None, 0.0)])
def test_a_segment_outside_the_video_is_reported_in_one_line(path, start, end):
    data = dataset(path, Dense(1.0), start, end)
    with pytest.raises(DecodeError, match="no segment from") as error:
        data[(0, 0)]
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    reported = dataset(path, Dense(1.0), start, end, fail=False)[(0, 0)]
    assert "no segment from" in reported["broken"]


def test_reversed_frames_run_backwards_and_static_repeats_the_middle_one(path):
    for item in range(6):
        forward, backward, static = (
            shown(dataset(path, order=order)[(0, item)]) for order in ("forward", "reversed", "static")
        )
        assert (backward, static) == (forward[::-1], [forward[2]] * 4)


def test_shuffled_is_a_permutation_that_every_clip_keeps_and_that_differs_between_them(path):
    forward, data = dataset(path, num_frames=8), dataset(path, num_frames=8, order="shuffled")
    permutations = set()
    for item in range(6):
        numbers, plain = shown(data[(0, item)]), shown(forward[(0, item)])
        assert sorted(numbers) == plain
        assert numbers == shown(data[(0, item)])
        permutations.add(tuple(plain.index(i) for i in numbers))
    assert len(permutations) == 6
