"""Floors of the skills: one frame, neighbouring frames, a sum over frames, or sets of frames that are compared."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import gcd

import numpy as np

from lit_video.datamodules.films import Skill, events_apart

MOST_STEPS = 16  # longer turns have too many states for an exact optimum in seconds
# highest share of directions that a sum over frames tells, by number of steps, for skills whose turns repeat states
SUMS = {
    "duration": {
        7: 11 / 14,
        8: 7 / 8,
        9: 5 / 6,
        10: 31 / 40,
        11: 9 / 11,
        12: 3 / 4,
        13: 11 / 13,
        14: 23 / 28,
        15: 5 / 6,
        16: 13 / 16,
    },
    "count": {15: 4 / 5, 16: 13 / 16},
}
# highest direction in percent that two neighbouring frames at a known time tell, for skills with continuous states and
# any number of steps. Two states that follow each other in one direction only: 100. A film and its reverse that
# show the same pairs of states, as places and ways of moving are uniform on the torus: 50. Boosting on all states
# finds the same up to its error: python -m benchmarks.two_frames
TWO_FRAMES = {"drift": 100.0, "zoom": 100.0, "rotation": 100.0, "meeting": 100.0, "speed": 50.0, "occlusion": 50.0}
FAR = 3  # steps up to which two states of a moving shape show its direction, at every speed
StepPair = tuple[int, int]  # numbers of two steps
Field = tuple[int, ...]  # numbers of steps that are compared, in order
Word = tuple[int, ...]  # the state shown at each step


def sum_ceiling(skill: Skill, steps: int) -> float | None:
    """Return the highest accuracy of the direction, in percent, of a sum over frames at known times.

    Such a classifier is the sign of sum_t f_t(state at time t) + c with any functions f_t: it knows the time of each
    frame, but compares no frames. It also sees states without noise, and knows all that does not change within a video
    (size, place, gaps). So models without a comparison of frames cannot exceed this value, and may not reach it. The
    value is exact: an integer program of the tests finds the fewest films on the wrong side, over all first steps and
    both directions. ``None`` for skills without a seam, whose states are continuous, and for turns of more than
    ``MOST_STEPS`` steps.
    """
    if not skill.seam or steps > MOST_STEPS:
        return None
    if skill.name in SUMS:
        return 100 * SUMS[skill.name][steps]

    # the two events of orderN stand on one of gcd(N, T) rings of steps; frames that all differ are like one ring
    rings = gcd(events_apart(skill.name) or 1, steps)
    length = steps // rings
    wrong = rings if length % 2 else 2 * rings
    return 100 * (1 - wrong / (2 * steps))


def two_frames_ceiling(skill: Skill, steps: int) -> float:
    """Return the highest accuracy of the direction, in percent, from two frames of neighbouring steps at a known time.

    On a circle of time every pair of neighbouring steps is equally likely at every time, also the two that its seam
    joins. So the best guess takes the direction in which the pair is the more frequent. Exact: by enumeration of all
    pairs of states, or for continuous states from ``TWO_FRAMES``.
    """
    if skill.name in TWO_FRAMES:
        return TWO_FRAMES[skill.name]

    forwards = Counter[tuple[str, str]]()
    backwards = Counter[tuple[str, str]]()
    for turn in skill.turns(steps):
        states = [repr(figures) for figures in turn(np.random.default_rng(0), steps)]
        following = [*states[1:], states[0]]
        forwards.update(zip(states, following, strict=True))
        backwards.update(zip(following, states, strict=True))
    right = (forwards | backwards).total()
    return 100 * right / (2 * forwards.total())


def distances_told(distances: Sequence[int], steps: int, clips: Sequence[Sequence[int]]) -> float:
    """Return how many of ``distances``, the N of orderN, the best guess from sets of frames gets right on average.

    If clips show every step equally often, all K distances look alike, and a guess is right for 1 of K. Otherwise the
    distance affects how often the clips show each of the two events, which the best (Bayes) guess uses.

    Args:
        distances: distances in steps on a circle, equally frequent; the first event is equally likely at each step.
        steps: number of steps of a turn.
        clips: the steps that the frames of each test clip show.
    """
    # share of each distance's videos, by how often the clips show the two events
    shares: dict[object, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    steps_of_clips = [list(clip) for clip in clips]
    for apart in distances:
        for first in range(steps):
            second = (first + apart) % steps
            counts = sorted((clip.count(first), clip.count(second)) for clip in steps_of_clips)
            shares[tuple(counts)][apart] += Fraction(1, steps)

    told = [max(shares_of_distances.values()) for shares_of_distances in shares.values()]
    return float(sum(told))


def share_in_reach(apart: int, steps: int, reach: int) -> float:
    """Return the share of orderN's films whose two events are within ``reach`` frames of each other.

    On a circle of T steps, events N apart stand N frames apart in (T - N) / T of the films, and T - N apart in N / T.
    """
    near = (steps - apart) * (apart <= reach)
    far = apart * (steps - apart <= reach)
    return (near + far) / steps


def is_told(skill: Skill, steps: int, clips: Iterable[Collection[StepPair]]) -> bool:
    """Return whether the direction of every film of a skill can be told from frames that are compared.

    A model's scores are a sum over sets of frames of which each frame is compared with each other one, at known times:
    the score of a film is sum_s f_s(states of the frames in s), with any functions f_s. A skill of events is told if
    some f_s put all films on the right side, which is a linear program; one of even motion, if two frames at most
    ``FAR`` steps apart are compared.

    Args:
        skill: the skill.
        steps: number of steps of a turn.
        clips: for each clip of a test, the pairs of steps whose frames are compared; every step that is shown is
            compared with itself.
    """
    compared = [set(pairs) for pairs in clips]
    if skill.kind == "change":
        return any(0 < abs(first - second) <= FAR for pairs in compared for first, second in pairs)
    if all(first == second for pairs in compared for first, second in pairs):
        return False  # see lit_video.datamodules.floors.sum_ceiling
    if {*combinations_with_replacement(range(steps), 2)} in compared:
        return True

    from networkx import find_cliques, from_edgelist  # here, because importing it takes 0.2 s

    fields = [tuple(sorted(field)) for pairs in compared for field in find_cliques(from_edgelist(pairs))]
    words: set[Word] = set()
    for turn in skill.turns(steps):
        film = turn(np.random.default_rng(0), steps)
        numbers: dict[str, int] = {}  # equal states have equal numbers
        words.add(tuple(numbers.setdefault(repr(figures), len(numbers)) for figures in film))
    return _are_apart(words, fields)


def _are_apart(words: Iterable[Word], fields: Sequence[Field]) -> bool:
    """Return whether a sum over fields is above 0 for all films forwards, and below 0 for all backwards."""
    from scipy.optimize import linprog  # here, because importing it takes 0.3 s

    forwards = [word[first:] + word[:first] for word in words for first in range(len(word))]
    films = [*forwards, *(film[::-1] for film in forwards)]
    column: dict[tuple[Field, Word], int] = {}
    shown = []
    for film in films:
        cells = [(field, tuple(film[step] for step in field)) for field in fields]
        shown.append([column.setdefault(cell, len(column)) for cell in cells])

    # margin 1: side * (sum of the film's cells + c) >= 1
    sides = np.repeat([1.0, -1.0], len(forwards))
    sums = np.zeros((len(films), len(column) + 1))
    for row, columns in enumerate(shown):
        sums[row, columns] = 1
    sums[:, -1] = 1
    no_cost = np.zeros(sums.shape[1])
    solution = linprog(no_cost, A_ub=-sides[:, None] * sums, b_ub=-np.ones(len(films)), bounds=(None, None))
    return bool(solution.success)


@dataclass(frozen=True)
class Needs:
    """Frames that a model must be shown and compare to tell all classes of all videos, and how far it comes without.

    No scheme compares frames of different clips, so events that are never in one clip cannot be compared. Ceilings are
    in percent.
    """

    steps_shown: float  # largest share, 0 to 1, of a video's steps that one clip of the test shows
    # distance in frames that a scheme must compare to tell every orderN (neighbouring steps show all other skills);
    # ``None`` if no clip shows both events of the orderN that needs the largest distance
    reach: int | None
    blind_ceiling: float  # highest top-1 of a model that sees a set of frames without order
    reversal_ceiling: float  # highest top-1 of a model that gives a clip and its reverse the same scores
    sum_ceilings: Mapping[str, float]  # highest direction of a sum over frames, by skill
    two_frames_ceilings: Mapping[str, float]  # highest direction of two neighbouring frames, by skill


def smallest_distance(clips: Sequence[Sequence[int]], steps: int) -> int | None:
    """Return the smallest distance in frames of two frames of a clip that are ``steps`` apart; ``None`` without any."""
    distances = []
    for clip in clips:
        for first, step in enumerate(clip):
            distances += [other - first for other in range(first, len(clip)) if clip[other] - step == steps]
    return min(distances, default=None)
