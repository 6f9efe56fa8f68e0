"""Test that frames of drawn motions tell no direction, and that reversed motions are the motions played backwards."""

import numpy as np
import pytest

from benchmarks.pretraining.drawn.catalogue import CAMERAS, MOTIONS
from benchmarks.pretraining.drawn.paths import COORDINATES, NUMBER, SPEEDS, clock, move, tent
from benchmarks.pretraining.drawn.video import Labels, draw_pose

pytestmark = pytest.mark.slow  # hundreds, of code that no command of the package runs

ALL = MOTIONS | CAMERAS
FRAMES = 8
TIMES = np.linspace(0, 1, FRAMES)
STARTS = 240


def poses(motion, starts=STARTS):
    """Return the poses ``(starts, coordinates, frames)`` whose starts are evenly spaced on every circle."""
    first = (np.arange(starts) + 0.5) / starts
    drawn = np.tile(first[:, None, None], (1, len(COORDINATES), FRAMES))
    move(drawn, motion, "steady", pace=0.4)
    return drawn


@pytest.mark.parametrize("name", ALL)
def test_every_coordinate_is_uniform_in_every_frame(name):
    motion = ALL[name]
    drawn = poses(motion)
    even = (np.arange(STARTS) + 0.5) / STARTS
    for track in motion.tracks:
        for values in np.sort(drawn[:, NUMBER[track.coordinate]], axis=0).T:
            assert np.abs(values - even).max() < 0.02, track


@pytest.mark.parametrize("name", MOTIONS)
def test_a_motion_moves_what_it_names_and_nothing_else(name):
    drawn = poses(MOTIONS[name], starts=6)
    moved = np.ptp(drawn, axis=2).max(0) > 0.2
    assert {COORDINATES[number] for number in np.flatnonzero(moved)} == {
        track.coordinate for track in MOTIONS[name].tracks
    }


@pytest.mark.parametrize("name", ALL)
def test_motions_come_in_pairs(name):
    motion = ALL[name]
    reverse = ALL[motion.reverse]
    assert reverse.reverse == name
    assert reverse.tracks == motion.tracks
    assert (reverse.kinds, reverse.travels) == (motion.kinds, motion.travels)
    assert (reverse is motion) or reverse.backwards != motion.backwards


@pytest.mark.parametrize("speed", SPEEDS)
@pytest.mark.parametrize("name", ["moves right", "bobs, then rocks", "circles the left hand", "one wave to the head"])
def test_a_video_played_backwards_is_of_the_reversed_classes(name, speed):
    motion = MOTIONS[name]
    forward = np.random.default_rng(1).random((len(COORDINATES), 1)).repeat(FRAMES, 1)
    backward = forward.copy()
    move(forward, motion, speed, pace=0.7)
    move(backward, MOTIONS[motion.reverse], SPEEDS[speed], pace=0.7)
    assert np.allclose(forward, backward[:, ::-1])
    assert not np.allclose(forward, backward)


@pytest.mark.parametrize("name", [name for name, motion in ALL.items() if motion.reverse == name])
def test_a_motion_without_a_pair_looks_the_same_backwards(name):
    """Compare the sets of films of all starts: a reversed film is the film of another start, mirrored in time."""
    tracks = [NUMBER[track.coordinate] for track in ALL[name].tracks]
    if not tracks:
        return
    are_coupled = any(track.group for track in ALL[name].tracks)
    drawn = poses(ALL[name])[:, tracks if are_coupled else tracks[:1]]
    for film in drawn[::40, :, ::-1]:
        assert np.abs(drawn - film).max((1, 2)).min() < 0.06


@pytest.mark.parametrize("name", [name for name, motion in MOTIONS.items() if motion.reverse != name])
def test_no_film_of_a_motion_is_a_film_of_its_reversal(name):
    motion = MOTIONS[name]
    tracks = [NUMBER[track.coordinate] for track in motion.tracks]
    forward = poses(motion)[:, tracks]
    backward = poses(MOTIONS[motion.reverse])[:, tracks]
    for film in forward[::24]:
        # distance on the circle: a start is no place
        away = np.abs(backward - film)
        assert np.minimum(away, 1 - away).max((1, 2)).min() > 0.05


@pytest.mark.parametrize("speed", SPEEDS)
def test_clocks_run_from_start_to_end_and_reverse_each_other(speed):
    progress = clock(speed, TIMES)
    assert progress[0] == 0
    assert progress[-1] == pytest.approx(1)
    assert (np.diff(progress) >= 0).all()
    assert np.allclose(clock(SPEEDS[speed], TIMES), 1 - clock(speed, 1 - TIMES))


def test_a_swing_is_even_in_both_directions():
    assert tent(np.array([0, 0.15, 0.3, 0.65]), 0.3).tolist() == pytest.approx([0, 0.5, 1, 0.5])


def test_camera_and_light_do_not_tell_the_direction_of_time():
    """Reversed labels give reversed cameras: the light alone may differ, it has no label."""
    labels = Labels(
        motion="grows", speed="speeding", camera="pans right", kind="shape", contour="disk", texture="flat", hue=0
    )
    forward = draw_pose(np.random.default_rng(4), labels, FRAMES)
    backward = draw_pose(np.random.default_rng(4), labels.reversed, FRAMES)[:, ::-1]
    same = np.isclose(forward, backward).all(1)
    assert {COORDINATES[number] for number in np.flatnonzero(~same)} <= {"light"}
