"""Test the endless order of training videos: passes, a first lesson, films beside their reverses."""

from itertools import chain

import numpy as np
import pytest

from lit_video.video.loading import Lesson, TrainingOrder

EVEN = np.arange(0, 20, 2)  # ten films; their reverses have the odd numbers
REVERSES = np.arange(20) ^ 1


def test_each_pass_shows_every_video_once_in_an_order_of_its_own():
    keys = list(TrainingOrder(np.arange(7), seed=3).keys(0, 28))
    passes = [keys[start : start + 7] for start in range(0, 28, 7)]
    assert [{number for number, _ in one} for one in passes] == [{0}, {1}, {2}, {3}]
    assert all(sorted(video for _, video in one) == list(range(7)) for one in passes)
    assert len({tuple(video for _, video in one) for one in passes}) == 4


def test_the_sequence_does_not_depend_on_where_it_is_cut():
    order = TrainingOrder(EVEN, seed=0, reverses=REVERSES, lesson=EVEN[:3], lesson_items=20)
    whole = list(order.keys(0, 120))
    for size in (2, 8, 30, 40):
        assert list(chain(*(order.keys(start, start + size) for start in range(0, 120, size)))) == whole


def test_a_lesson_comes_first_and_ends_at_its_item():
    order = TrainingOrder(np.arange(12), seed=0, lesson=np.array([1, 4, 6]), lesson_items=8)
    keys = list(order.keys(0, 32))
    lesson, rest = keys[:8], keys[8:]
    assert {video for _, video in lesson} == {1, 4, 6}
    assert [number for number, _ in lesson] == [0, 0, 0, 1, 1, 1, 2, 2]
    assert [number for number, _ in rest] == [3] * 12 + [4] * 12, "no pass has the draws of another"
    assert sorted(video for _, video in rest[:12]) == list(range(12))
    without = list(TrainingOrder(np.arange(12), seed=3).keys(0, 24))
    assert [video for _, video in rest] == [video for _, video in without], "the order of a pass is of its number"


def test_a_film_is_followed_by_its_reverse_with_the_number_of_the_same_pass():
    order = TrainingOrder(EVEN, seed=0, reverses=REVERSES, lesson=EVEN[5:7], lesson_items=12)
    keys = list(order.keys(0, 52))
    for film, reverse in zip(keys[::2], keys[1::2], strict=True):
        assert reverse == (film[0], film[1] + 1) and film[1] % 2 == 0
    assert {video for _, video in keys[:12]} == {10, 11, 12, 13}
    assert sorted(video for _, video in keys[12:32]) == list(range(20))


def test_a_lesson_needs_classes_and_steps():
    with pytest.raises(ValueError, match="classes is empty"):
        Lesson((), 3)
    with pytest.raises(ValueError, match="steps is 0"):
        Lesson(("a",), 0)
