"""Test which frames make a clip."""

import random
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise

import pytest
import torch

from lit_video.datamodules import Dense, Segments
from lit_video.video.decoding import FrameTable
from lit_video.video.sampling import clip_span, frame_numbers
from lit_video.video.seeding import digest, seeded


def table_of(count, seconds, pts=(), time_base=Fraction(1)):
    """Return the table of a video of 36 x 48 pixels, with a key frame at its start."""
    return FrameTable(
        pts=pts,
        time_base=time_base,
        keyframes=pts[:1],
        count=count,
        seconds=seconds,
        height=36,
        width=48,
    )


def constant_rate(count, fps=25):
    """Return a table like an encoder's, with times in 1 / (1000 fps) s."""
    pts = tuple(1000 * i for i in range(count))
    return table_of(count, Fraction(count, fps), pts=pts, time_base=Fraction(1, 1000 * fps))


def untimed(count, fps=25):
    return table_of(count, count / Fraction(fps))


def variable_rate(rng, count):
    """Return a table in which every frame lasts for a random time."""
    lengths = [rng.randint(1, 90) for _ in range(count)]
    pts = [rng.randint(-1000, 1000)]
    for length in lengths[:-1]:
        pts.append(pts[-1] + length)
    return table_of(count, Fraction(sum(lengths), 600), pts=tuple(pts), time_base=Fraction(1, 600))


@pytest.mark.parametrize("seconds", [Fraction(3), Fraction(10), Fraction(2999, 300)])
def test_even_clips_reach_both_ends_at_equal_steps_and_a_single_one_is_the_centre(seconds):
    length = Fraction("2.56")
    for clips in (2, 3, 5, 10):
        cut = [clip_span(length, seconds, clip, clips=clips) for clip in range(clips)]
        assert (cut[0], cut[-1]) == ((0, length), (seconds - length, seconds))
        assert len({b[0] - a[0] for a, b in pairwise(cut)}) == 1
    start, end = clip_span(length, seconds, 0, clips=1)
    assert (end - start, start) == (length, seconds - end)
    assert clip_span(Fraction(2), Fraction(1, 2), 1, clips=3) == (0, 2), "a short video"


def shown_at(table, moment):
    """Return the frame on show, the slow way."""
    ends = [(pts - table.pts[0]) * table.time_base for pts in table.pts[1:]]
    return sum(end <= moment for end in ends)


@pytest.mark.parametrize("seed", range(5))
def test_the_frame_on_show_at_the_middle_of_each_bin_is_chosen(seed):
    rng = random.Random(seed)
    for _ in range(100):
        table = variable_rate(rng, rng.randint(1, 60))
        frames = rng.randint(1, 20)
        # odd steps that no frame boundary, a multiple of 1/600, can meet
        start = Fraction(rng.randint(0, 10**6), 7 * 10**6 + 1) * table.seconds
        length = Fraction(rng.randint(1, 10**6), 10**6 + 3) * (table.seconds - start)
        moments = [start + (i + Fraction(1, 2)) * length / frames for i in range(frames)]
        numbers = frame_numbers(table, (start, start + length), [0.5] * frames)
        assert numbers == [shown_at(table, moment) for moment in moments]


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 6, 8, 10, 12, 16])
@pytest.mark.parametrize("fps", [12, 15, 20, 25, 30])
def test_even_clips_of_a_video_played_backwards_show_the_frames_backwards(frames, fps):
    """Compare at ties too, where moments fall exactly between two frames."""
    for count in range(fps, 2 * fps + 1):
        table = constant_rate(count, fps)
        if frames % 2 and not count % 2:
            continue  # the very middle lies between two frames: neither is the mirror image of itself
        for clips in (1, 2, 3):
            numbers = [Dense(1.0).numbers(table, frames, clip, clips=clips) for clip in range(clips)]
            assert numbers == [[count - 1 - i for i in reversed(one)] for one in reversed(numbers)], (count, clips)


@pytest.mark.parametrize("fps", [12, 25, 30])
def test_untimed_videos_are_cut_like_those_of_constant_rate(fps):
    for count in (1, 7, 61):
        for span in [(Fraction(0), Fraction(count, fps)), (Fraction(1, 9), Fraction(11, 9))]:
            numbers = frame_numbers(untimed(count, fps), span, [0.5] * 7)
            assert numbers == frame_numbers(constant_rate(count, fps), span, [0.5] * 7)


def segment_frames(count, num_frames, clip, clips):
    return Segments().numbers(constant_rate(count, 25), num_frames, clip, clips=clips)


def test_training_on_segments_takes_each_frame_of_each_segment_equally_often():
    random.seed(0)
    seen = [[0] * 5 for _ in range(8)]
    for _ in range(2000):
        numbers = segment_frames(40, 8, 0, None)
        for segment, number in enumerate(numbers):
            assert segment * 5 <= number < (segment + 1) * 5
            seen[segment][number % 5] += 1
    # 400 of 2000 each, standard deviation 17.9
    assert all(310 < times < 490 for segment in seen for times in segment)


def test_evaluation_on_segments_takes_the_middles_and_several_clips_share_every_segment():
    assert segment_frames(40, 8, 0, 1) == [2, 7, 12, 17, 22, 27, 32, 37]
    clips = [segment_frames(72, 8, clip, 3) for clip in range(3)]
    assert clips == [[9 * i + offset for i in range(8)] for offset in (1, 4, 7)]


def test_digest_is_the_same_on_every_machine_and_in_every_version():
    assert digest(1, "a") == 4207620368297011618


@pytest.mark.parametrize("error", [(), (RuntimeError,)])
def test_seeded_leaves_the_global_streams_as_they_were(error):
    before = random.getstate(), torch.get_rng_state()
    with suppress(*error), seeded(1):
        random.random(), torch.rand(3)
        for one in error:
            raise one
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
