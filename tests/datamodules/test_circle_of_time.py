"""Test that turns on a circle of time show their direction in no single frame, and in no film of another direction."""

from collections import Counter
from dataclasses import replace
from itertools import groupby, product

import numpy as np
import pytest

from benchmarks.two_frames import best_told
from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.drawing import Figure
from lit_video.datamodules.films import find_skill, hidden_steps, pauses, rolled, speed
from lit_video.datamodules.floors import TWO_FRAMES, two_frames_ceiling
from lit_video.datamodules.temporal_skills import first_steps
from tests.conftest import quick_or_slow
from tests.tables.experiments import skill_sets

# (skills, steps) of the data set's default and of every file in experiments/
SETS = skill_sets()
SKILLS = sorted({(name, steps) for skills, steps in SETS for name in skills})
SEEDS = range(10)  # draws of the parameters that are not discrete


def turns(name, steps):
    """Return turns of a skill: every turn with other discrete parameters, and many draws of the others."""
    return [turn(np.random.default_rng(seed), steps) for turn, seed in product(find_skill(name).turns(steps), SEEDS)]


def signs(values):
    """Return which way values change from each step to the next on the circle, as -1, 0 and 1."""
    change = np.roll(values, -1) - values
    return np.sign(np.where(np.abs(change) < 1e-9, 0, change)).astype(int)


def torus(values):
    """Return changes from each step to the next on the circle and on the torus of places, from -0.5 to 0.5."""
    return (np.roll(values, -1) - values + 0.5) % 1 - 0.5


def gap(one, other):
    """Return the distance of two figures on the torus of places."""
    return np.hypot(*((getattr(one, axis) - getattr(other, axis) + 0.5) % 1 - 0.5 for axis in "xy"))


def word(name, turn):
    """Describe a turn on its circle by what tells directions: equal turns have equal words, in every appearance.

    Figures, their brightness relative to each other, and whether size, angle, place, distance or speed grow.
    """
    shown = [tuple(figure.bright for figure in figures) for figures in turn]
    if len({bright for figures in shown for bright in figures}) == 1:
        shown = [len(figures) for figures in shown]  # one brightness: bright or dark alike
    symbols = [shown]
    if all(len(figures) == 1 for figures in turn):
        figures = [one for (one,) in turn]
        dx, dy = (torus(np.array([getattr(figure, axis) for figure in figures])) for axis in "xy")
        speed = np.round(np.hypot(dx, dy), 9)
        symbols += [signs(np.array([figure.radius for figure in figures])), signs(speed)]
        symbols += [np.sign(np.round(dx, 9)), np.sign(np.round(dy, 9))] if name == "drift" else []
        angles = np.array([figure.angle for figure in figures])
        symbols.append(np.sign(np.round((np.roll(angles, -1) - angles)[:-1].mean(), 9)) * np.ones(len(turn)))
    elif all(len(figures) == 2 for figures in turn):
        symbols.append(signs(np.array([gap(a, b) for a, b in turn])))
    return tuple(zip(*(map(str, each) for each in symbols), strict=True))


def on_a_circle(letters):
    """Return a word in the form that all its rolls share."""
    return min(letters[first:] + letters[:first] for first in range(len(letters)))


@pytest.mark.parametrize(("skills", "steps"), SETS, ids=str)
def test_no_turn_of_one_direction_is_a_turn_of_the_other_of_any_skill(skills, steps):
    words = {}
    for name in skills:
        for turn in turns(name, steps):
            words.setdefault(on_a_circle(word(name, turn)), set()).add((name, "forward"))
            words.setdefault(on_a_circle(word(name, turn[::-1])), set()).add((name, "backward"))
    clashes = {letters: whose for letters, whose in words.items() if len({way for _, way in whose}) > 1}
    assert not clashes


def test_the_test_finds_a_clash():
    """Check that order1 and order7 of eight steps, and a gap as long as the rest, are found."""
    steps = 8
    (one,) = find_skill("order1").turns(steps)
    (seven,) = find_skill("order7").turns(steps)
    rng = np.random.default_rng
    first, second = (word("order", turn) for turn in (one(rng(0), steps), seven(rng(0), steps)[::-1]))
    assert on_a_circle(first) == on_a_circle(second)
    (duration,) = find_skill("duration").turns(steps)
    clash = duration.func(rng(0), steps, gap=2)
    assert on_a_circle(word("duration", clash)) == on_a_circle(word("duration", clash[::-1]))


@pytest.mark.parametrize(("name", "steps"), [skill for skill in SKILLS if find_skill(skill[0]).seam])
def test_every_frame_is_equally_likely_at_every_time_in_both_directions(name, steps):
    for turn in turns(name, steps):
        films = [[*map(repr, rolled(turn, first))] for first in range(steps)]
        every = Counter(map(repr, turn))
        for t in range(steps):
            assert Counter(film[t] for film in films) == every
            assert Counter(film[::-1][t] for film in films) == every


@pytest.mark.parametrize(
    ("name", "steps"), [skill for skill in SKILLS if skill[0] not in TWO_FRAMES or skill[0] == "occlusion"]
)
def test_two_neighbouring_frames_tell_what_the_enumeration_of_all_pairs_of_states_says(name, steps):
    """Compare the floor with the best guess from all films, at every known time; places are left out, see below."""
    skill = find_skill(name)
    films = []
    for turn in skill.turns(steps):
        played = turn(np.random.default_rng(0), steps)
        films += [rolled([[one.bright for one in figures] for figures in played], k) for k in range(steps)]
    for time in range(steps - 1):
        ways = [Counter(str(film[time : time + 2]) for film in way) for way in (films, [f[::-1] for f in films])]
        told = 100 * (ways[0] | ways[1]).total() / (2 * len(films))
        assert told == pytest.approx(two_frames_ceiling(skill, steps)), time
        assert told <= 70 if name == "order1" else told == 50


FEW = (1200, 800)  # films for training and test: a standard error of 1.3 points


TOLD = [*((name, 8) for name in TWO_FRAMES), ("occlusion", 16)]


@pytest.mark.parametrize(("name", "steps"), quick_or_slow(TOLD, {("meeting", 8)}))
def test_two_neighbouring_frames_tell_of_continuous_states_what_the_table_says(name, steps):
    assert best_told(find_skill(name), steps, films=FEW) == pytest.approx(TWO_FRAMES[name], abs=6)


def test_one_shape_alone_does_not_tell_whether_two_meet():
    assert best_told(find_skill("meeting"), 8, alone=True, films=FEW) == pytest.approx(50, abs=6)


def outwards(rng, steps):
    """Move a shape from the middle of the picture outwards, faster and faster."""
    film = speed(rng, steps)
    shift = [0.5 - getattr(film[0][0], axis) + rng.uniform(-0.2, 0.2) for axis in "xy"]
    return [[replace(one, x=(one.x + shift[0]) % 1, y=(one.y + shift[1]) % 1)] for (one,) in film]


def test_the_estimator_finds_places_that_tell_a_direction():
    leaking = replace(find_skill("speed"), turns=lambda steps: [outwards])
    assert best_told(leaking, 8, films=FEW) > 70


def test_the_enumeration_finds_a_leak():
    """Check that events in neighbouring steps, and a shape that shrinks once before it vanishes, are found."""
    assert two_frames_ceiling(find_skill("order1"), 8) == 68.75
    shown = [[Figure(0.5, 0.5, radius)] for radius in (0.2, 0.1)] + [[]] * 6
    leaking = replace(find_skill("duration"), turns=lambda steps: [lambda rng, steps: shown])
    assert two_frames_ceiling(leaking, 8) == 50 + 50 * 3 / 8


def places(name, steps, draws=4000):
    """Return the first place of every figure in a skill's turns, ``(draws, figures, 2)``."""
    films = [find_skill(name).film(np.random.default_rng(seed), steps, seed % steps) for seed in range(draws)]
    return np.array([[(one.x, one.y) for one in figures] for figures in (film[0] for film in films)])


@pytest.mark.parametrize("name", ["meeting", "speed"])
def test_places_are_uniform_on_the_torus(name):
    """Check the shares of ten equal parts, which have a standard deviation below 0.005."""
    for of_figure in places(name, 8).transpose(1, 2, 0):
        for axis in of_figure:
            assert np.abs(np.histogram(axis, 10, (0, 1))[0] / len(axis) - 0.1).max() < 0.025


def test_the_jump_at_the_seam_of_speed_goes_any_way():
    """Check that the jump, the move at the seam, points in any direction, like all others."""
    jumps = []
    for turn in (speed(np.random.default_rng(seed), 8) for seed in range(4000)):
        last, first = turn[-1][0], turn[0][0]
        jumps.append(np.arctan2((first.y - last.y + 0.5) % 1 - 0.5, (first.x - last.x + 0.5) % 1 - 0.5))
    assert np.abs(np.histogram(jumps, 10, (-np.pi, np.pi))[0] / len(jumps) - 0.1).max() < 0.025


@pytest.mark.parametrize("steps", [5, 8, 9, 16, 32])
def test_both_shapes_are_shown_between_the_walls_and_once_round_the_picture(steps):
    """Check that a shape vanishes and comes back while the other is shown, so that no pair of frames has an order."""
    for film in turns("occlusion", steps):
        shown = ["".join("bd"[not one.bright] for one in figures) for figures in film]
        runs = [key for key, _ in groupby(shown)]
        assert runs == ["d", "bd", "b", "bd"]
        assert shown.count("d") == shown.count("b") == hidden_steps(steps)
        between = shown[hidden_steps(steps) :].index("b")
        assert between < steps - 2 * hidden_steps(steps) - between
        for bright in (True, False):
            xs = {t: one.x for t, figures in enumerate(film) for one in figures if one.bright == bright}
            moves = [(xs[t + 1] - xs[t] + 0.5) % 1 - 0.5 for t in xs if t + 1 in xs]
            assert np.abs(moves) == pytest.approx(np.full(len(moves), 1 / steps)) and len({m > 0 for m in moves}) == 1


@pytest.mark.parametrize(("name", "state", "period"), [("drift", "x", 1), ("rotation", "angle", np.pi)])
def test_motion_without_a_seam_is_anywhere_at_every_time(name, state, period):
    """Check the shares of ten equal parts of the circle of states, which have a standard deviation below 0.005."""
    one, steps, draws = find_skill(name), 8, 4000
    films = [one.film(np.random.default_rng(seed), steps, 0) for seed in range(draws)]
    states = np.array([[getattr(figure, state) / period % 1 for (figure,) in film] for film in films])
    for t in range(steps):
        shares = np.histogram(states[:, t], 10, (0, 1))[0] / draws
        assert np.abs(shares - 0.1).max() < 0.025


@pytest.mark.parametrize(("count", "steps"), [(64, 16), (16, 8), (8, 16), (20, 8)])
def test_first_steps_are_stratified(count, steps):
    firsts = first_steps(count, steps, seed=0)
    assert len(firsts) == count
    for stratum in range(0, count, steps):
        part = firsts[stratum : stratum + steps]
        assert len(set(part)) == len(part)
    assert firsts != sorted(firsts) and firsts != first_steps(count, steps, seed=1)


def test_videos_begin_at_the_first_steps_of_their_stratum(tmp_path):
    data = TemporalSkills(str(tmp_path), skills=("zoom", "order3"), pairs=(16, 8, 8), image_size=16)
    firsts = {}
    for pair in data.drawn_pairs():
        split = pair.paths[0].relative_to(data.root).parts[0]
        firsts.setdefault((split, pair.skill.name), []).append(pair.first)
    assert all(set(Counter(found).values()) == {len(found) // 8} for found in firsts.values())
    assert len(firsts) == 6 and len({tuple(found[:8]) for found in firsts.values()}) > 1


def test_bursts_fill_a_turn_with_pauses_that_separate_them():
    for steps in (15, 16, 32):
        found = pauses(steps)
        assert found and all(sum(each) + 9 == steps and min(each) >= 2 for each in found)
    assert pauses(14) == []


def test_every_skill_set_of_the_experiments_is_tested():
    names = {name for skills, _ in SETS for name in skills}
    assert {"drift", "zoom", "rotation", "meeting", "speed", "duration", "count", "occlusion"} < names
    assert {steps for _, steps in SETS} >= {8, 16, 32}
