"""Test the floors of temporal skills against independent enumerations."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, hstack, identity

from lit_video.datamodules import TemporalSkills
from lit_video.datamodules.films import find_skill
from lit_video.datamodules.floors import MOST_STEPS, share_in_reach, sum_ceiling, two_frames_ceiling
from lit_video.utils.yaml_files import read_yaml
from tests.conftest import ROOT

LARGEST = 8.0  # limit of |f_t| in the integer program, in margins; limits of 8, 16, 32 and 100 give the same optima
NAMES = ["zoom", "meeting", "speed", "duration", "count", "occlusion", *(f"order{apart}" for apart in range(1, 8))]
QUICK = 9  # steps of turns whose optimum is found in a fraction of a second
LENGTHS = [(name, steps) for name in NAMES for steps in range(find_skill(name).shortest, MOST_STEPS + 1)]


def as_word(turn):
    """Return a number for each frame's state; equal frames have equal numbers."""
    numbers = {}
    return tuple(numbers.setdefault(repr(figures), len(numbers)) for figures in turn)


def all_rolls(word):
    """Return a turn as it is played from each of its steps."""
    return [word[first:] + word[:first] for first in range(len(word))]


def words(name, steps):
    """Return a skill's only turn from each of its first steps."""
    (turn,) = find_skill(name).turns(steps)
    return all_rolls(as_word(turn(np.random.default_rng(0), steps)))


def separable(forwards, backwards):
    """Return whether some sum over frames is above 0 for all films of one kind and below 0 for the others."""
    films = [*forwards, *backwards]
    cells = sorted({(t, state) for film in films for t, state in enumerate(film)})
    rows = [[float(film[t] == state) for t, state in cells] + [1.0] for film in films]
    signs = np.repeat([-1.0, 1.0], [len(forwards), len(backwards)])
    found = linprog(np.zeros(len(cells) + 1), signs[:, None] * rows, -np.ones(len(films)), bounds=(None, None))
    return found.status == 0


def fewest_wrong(forwards, backwards):
    """Return the fewest films to leave out until the others are separable, by trying all."""
    films = [(film, True) for film in forwards] + [(film, False) for film in backwards]
    for count in range(len(films)):
        for left_out in combinations(range(len(films)), count):
            kept = [one for i, one in enumerate(films) if i not in left_out]
            if separable([film for film, way in kept if way], [film for film, way in kept if not way]):
                return count
    return len(films)


@pytest.mark.parametrize(("name", "steps"), [("zoom", 4), ("zoom", 6), ("order1", 4), ("order1", 5), ("order2", 6)])
def test_the_best_sum_over_frames_is_that_of_all_subsets(name, steps):
    forwards = words(name, steps)
    wrong = fewest_wrong(forwards, [word[::-1] for word in forwards])
    assert sum_ceiling(find_skill(name), steps) == pytest.approx(100 * (1 - wrong / (2 * steps)))
    assert wrong > 0, "forwards and backwards have the same sums over all first steps"


def least_wrong(forwards, backwards):
    """Return the fewest films that the best sum over frames gets wrong, by an integer program."""
    films = [*forwards, *backwards]
    sides = np.repeat([1.0, -1.0], [len(forwards), len(backwards)])
    shown = sorted({(time, state) for film in films for time, state in enumerate(film)})
    column = {cell: number for number, cell in enumerate(shown)}

    # margin 1: side * (sum of the film's cells + c) + big * (1 if the film may be wrong) >= 1
    cells = np.zeros((len(films), len(shown) + 1))
    for row, film in enumerate(films):
        for time, state in enumerate(film):
            cells[row, column[time, state]] = 1
        cells[row, -1] = 1
    big = LARGEST * (len(films[0]) + 1) + 1
    matrix = hstack([csr_array(sides[:, None] * cells), big * identity(len(films))])

    weights = cells.shape[1]
    cost = np.r_[np.zeros(weights), np.ones(len(films))]
    lowest = np.r_[np.full(weights, -LARGEST), np.zeros(len(films))]
    highest = np.r_[np.full(weights, LARGEST), np.ones(len(films))]
    solution = milp(cost, constraints=LinearConstraint(matrix, lb=1), integrality=cost, bounds=Bounds(lowest, highest))
    assert solution.success
    return round(solution.fun)


@pytest.mark.parametrize(
    ("name", "steps"),
    [pytest.param(*case, marks=[] if case[1] <= QUICK else pytest.mark.slow) for case in LENGTHS],
)
def test_the_bound_of_sums_is_the_optimum_of_an_integer_program(name, steps):
    skill = find_skill(name)
    wrong_by_word = {}
    shares = []
    for turn in skill.turns(steps):
        word = as_word(turn(np.random.default_rng(0), steps))
        if word not in wrong_by_word:
            forwards = all_rolls(word)
            wrong_by_word[word] = least_wrong(forwards, [played[::-1] for played in forwards])
        shares.append(1 - wrong_by_word[word] / (2 * steps))
    assert sum_ceiling(skill, steps) == pytest.approx(100 * np.mean(shares))


def test_a_film_without_a_direction_has_no_sum_that_tells_it():
    """Check that the films of events half a turn apart, equal in both directions, are told in half of the cases."""
    forwards = words("order2", 4)
    assert set(forwards) == {word[::-1] for word in forwards}
    assert sum_ceiling(find_skill("order2"), 4) == 50


@pytest.mark.parametrize(
    ("steps", "ceilings"),
    [
        (8, {"zoom": 87.5, "meeting": 87.5, "order1": 87.5, "order2": 75, "order3": 87.5, "duration": 87.5}),
        (16, {"zoom": 93.75, "order7": 93.75, "count": 81.25, "duration": 81.25}),
    ],
)
def test_bounds_of_the_experiments(steps, ceilings):
    assert {name: sum_ceiling(find_skill(name), steps) for name in ceilings} == pytest.approx(ceilings)


def test_continuous_states_and_long_turns_have_no_known_bound():
    assert sum_ceiling(find_skill("drift"), 8) is sum_ceiling(find_skill("zoom"), 32) is None


@pytest.mark.parametrize(
    ("steps", "ceilings"),
    [
        (8, {"drift": 100, "meeting": 100, "speed": 50, "order1": 50 + 50 * 3 / 8, "order3": 50, "duration": 50}),
        (16, {"zoom": 100, "rotation": 100, "occlusion": 50, "order1": 50 + 50 * 3 / 16, "order7": 50, "count": 50}),
    ],
)
def test_two_neighbouring_frames_of_the_experiments(steps, ceilings):
    assert {name: two_frames_ceiling(find_skill(name), steps) for name in ceilings} == pytest.approx(ceilings)


@pytest.mark.parametrize(("apart", "steps"), [(1, 8), (3, 8), (7, 16)])
def test_events_are_within_reach_as_often_as_in_the_films(apart, steps):
    turn = find_skill(f"order{apart}").turns(steps)[0](np.random.default_rng(0), steps)
    distances = []
    for word in all_rolls(as_word(turn)):
        first, second = (word.index(state) for state in as_word(turn)[::apart][:2])
        distances.append(abs(first - second))
    for reach in range(steps):
        assert share_in_reach(apart, steps, reach) == np.mean(np.array(distances) <= reach)


def test_the_page_of_the_skills_has_their_floors():
    scale = read_yaml(ROOT / "experiments/scale/twelve.yaml")["data"]["init_args"]
    data = TemporalSkills(skills=tuple(scale["skills"]), num_frames=scale["num_frames"])
    two_frames, sums = data.two_frames_ceilings(), data.sum_ceilings()
    rows = []
    for name, skill in data.skills.items():
        bound = f"{sums[name]:.1f}" if name in sums else "-"
        rows.append(f"| {name} | {skill.kind} | {two_frames[name]:.1f} | {bound} |")
    assert "\n".join(rows) in (ROOT / "docs/skills.md").read_text(encoding="utf-8")
