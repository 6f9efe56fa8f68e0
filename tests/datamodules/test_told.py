"""Test which skills are told from the frames that a model compares."""

from itertools import combinations

import pytest

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.films import find_skill
from lit_video.datamodules.floors import is_told
from lit_video.datamodules.temporal_skills import SKILLS
from lit_video.video.sampling import Segments

CHANGE = {"drift", "zoom", "rotation", "meeting"}


def pairs(distances, steps=8):
    """Return the pairs of steps at these distances, with each step alone."""
    alone = {(step, step) for step in range(steps)}
    return alone | {(a, b) for a, b in combinations(range(steps), 2) if b - a in distances}


def told(*distances):
    return set(TemporalSkills().told(pairs(distances)))


def test_single_frames_at_known_times_tell_no_skill():
    assert told() == set()


def test_all_distances_tell_every_skill():
    assert told(*range(1, 8)) == set(SKILLS)


def test_a_window_tells_what_its_distances_show():
    assert told(1) == CHANGE | {"order1"}
    assert told(1, 2) == CHANGE | {"order1", "order2"}
    assert told(1, 2, 3) == told(1, 2, 3, 4) == set(SKILLS)


def test_even_distances_tell_even_events_alone():
    """Leave order1, order3 and duration untold, which X-ViT's boundary frames of a window of two do."""
    assert told(2, 4, 6) == CHANGE | {"order2"}


@pytest.mark.parametrize("apart", [1, 2, 3])
def test_events_on_a_circle_are_told_by_either_distance(apart):
    """Tell the films in which the events are the other way round from the times of their frames."""
    skill = find_skill(f"order{apart}")
    of = {d for d in range(1, 8) if is_told(skill, 8, [pairs({d})])}
    assert of == {apart, 8 - apart}


def test_frames_of_different_clips_are_not_compared():
    """Show even steps in one clip and odd ones in the other: order1's events are never in one clip."""
    data = TemporalSkills(length=8, num_frames=4, test_clips=2, sampling=Segments())
    assert [[step % 2 for step in clip] for clip in data.steps_shown()] in ([[0] * 4, [1] * 4], [[1] * 4, [0] * 4])
    found = data.told(pairs({1, 2, 3}, steps=4))
    assert "order2" in found and not {"order1", "order3"} & set(found)
