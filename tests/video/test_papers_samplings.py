"""Test frames x rate, whole long videos, and the promises of every sampling."""

import random
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise

import pytest

from lit_video.datamodules import Dense, DenseStride, ReleasedDense, ReleasedSegments, Segments, WholeVideo
from lit_video.video.seeding import seeded
from tests.video.test_sampling import constant_rate as video
from tests.video.test_sampling import untimed, variable_rate

ALL = [
    Dense(2.0),
    DenseStride(8),
    DenseStride(4, fps=15),
    Segments(),
    WholeVideo(3.0),
    ReleasedSegments(),
    ReleasedDense(16),
    ReleasedDense(16, fps=30),
]


UNEVEN = variable_rate(random.Random(0), 400)


@pytest.mark.parametrize("sampling", ALL, ids=str)
@pytest.mark.parametrize("table", [video(1), video(7), video(250), video(3000), untimed(300), UNEVEN])
def test_every_sampling_gives_existing_frames_in_order(sampling, table):
    clips = [sampling.numbers(table, 8, clip, clips=3) for clip in range(3)]
    for seed in range(20):
        with seeded(seed):
            clips.append(sampling.numbers(table, 8))
    for numbers in clips:
        assert len(numbers) == 8
        assert numbers == sorted(numbers)
        assert numbers[0] >= 0
        assert numbers[-1] < table.count


@pytest.mark.parametrize("sampling", ALL, ids=str)
def test_evaluation_draws_nothing_and_training_is_a_function_of_the_seed(sampling):
    random.seed(5)
    before = random.getstate()
    for clip in range(3):
        sampling.numbers(video(900), 8, clip, clips=3)
    assert random.getstate() == before
    draws = []
    for seed in (0, 0, 1, 2, 3):
        with seeded(seed):
            draws.append(tuple(sampling.numbers(video(900), 8)))
    assert draws[0] == draws[1]
    assert len(set(draws)) == 4


@pytest.mark.parametrize(("frames", "stride"), [(8, 8), (16, 4), (96, 4), (8, 32), (5, 3), (4, 1)])
@pytest.mark.parametrize("table", [video(400), video(401, 30), untimed(400), UNEVEN])
def test_frames_times_rate_counts_the_videos_own_frames(frames, stride, table):
    for clips in (1, 3):
        for clip in range(clips):
            numbers = DenseStride(stride).numbers(table, frames, clip, clips=clips)
            assert {b - a for a, b in pairwise(numbers)} == {stride}
    for seed in range(30):
        with seeded(seed):
            numbers = DenseStride(stride).numbers(table, frames)
        assert {b - a for a, b in pairwise(numbers)} == {stride}


def test_random_clips_start_at_any_frame_alike():
    # 40 frames less 16: starts from 0 to 24, each 200 times; with 23 degrees of freedom 99.9 % are below 49.7
    with seeded("starts"):
        starts = Counter(DenseStride(4).numbers(video(40), 4)[0] for _ in range(4800))
    assert set(starts) == set(range(2, 26)) and sum((n - 200) ** 2 / 200 for n in starts.values()) < 49.7


@pytest.mark.parametrize("rate", [12, 25, 30, 60])
def test_frames_times_rate_in_time_is_a_clip_of_so_many_seconds(rate):
    table = video(20 * rate, rate)
    for clip in range(3):
        assert DenseStride(8, fps=30).numbers(table, 8, clip, clips=3) == Dense(64 / 30).numbers(
            table, 8, clip, clips=3
        )
    with seeded(0):
        first = DenseStride(8, fps=30).numbers(table, 8)
    assert first[-1] - first[0] == pytest.approx(7 * 8 * rate / 30, abs=1)


@pytest.mark.parametrize("kind", [Dense, WholeVideo, DenseStride, ReleasedDense, partial(DenseStride, 4)])
@pytest.mark.parametrize("wrong", [0, -4, float("inf"), float("nan")])
def test_a_length_or_rate_of_nothing_is_refused_by_name(kind, wrong):
    with pytest.raises(ValueError, match=rf"^(seconds|stride|fps) is {wrong}, "):
        kind(wrong)


def test_consecutive_clips_cover_a_long_video_to_its_end():
    covering = WholeVideo(8.5).covering(Fraction(421, 2))
    assert len(covering) == 25  # 210.5 s
    assert covering[0] == (0, Fraction("8.5"))
    assert covering[-1][1] == Fraction(421, 2)
    assert all(a[1] == b[0] for a, b in pairwise(covering[:-1]))
    assert covering[-1][0] <= covering[-2][1]


def test_as_many_clips_as_cover_a_video_are_its_consecutive_clips():
    table = video(1000, 10)
    clips = [WholeVideo(10.0).numbers(table, 8, clip, clips=10) for clip in range(10)]
    assert clips == [[100 * clip + (25 + 50 * i) // 4 for i in range(8)] for clip in range(10)]


@pytest.mark.parametrize("clips", [10, 12, 15, 20, 37])
def test_a_shorter_video_shows_each_of_its_clips_about_equally_often(clips):
    table = video(1000, 10)
    seen = Counter(tuple(WholeVideo(10.0).numbers(table, 5, clip, clips=clips)) for clip in range(clips))
    assert len(seen) == 10
    assert max(seen.values()) - min(seen.values()) <= 1
