"""Temporal skills that can be told from sets of frames which are compared, and never all together."""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations_with_replacement

import numpy as np

from lit_video.datamodules.films import Skill

FAR = 3  # steps up to which two states of a moving shape show its direction, at every speed
StepPair = tuple[int, int]  # numbers of two steps
Field = tuple[int, ...]  # numbers of steps that are compared, in order
Word = tuple[int, ...]  # the state shown at each step


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
