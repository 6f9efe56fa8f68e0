"""Temporal skills as films on a circle of time, on which every frame is equally likely at every time.

A *turn* is a film of T steps that ends where it began: after step T - 1 comes step 0. A video plays one turn from a
random step, forwards or backwards. Every frame of a turn is then equally likely at every time in both directions, so
no single frame tells the direction, even if its time is known. If a turn ends in another state than it began with, the
film jumps between these two; this place is its seam.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.drawing import Figure, Film, Rng

Turn = Callable[[Rng, int], Film]  # (random generator, steps) -> a turn played forwards
SkillKind = Literal["when", "change"]

LARGE = (0.24, 0.3)  # range of the radius for rotation and orderN, as a share of the picture's side
FLASHES = (1, 2, 3)  # flashes of the three bursts of count
LEAST_PAUSE = 2  # steps between two bursts; two flashes of a burst are one step apart


@dataclass(frozen=True)
class Skill:
    """A temporal skill: its turns, and the class names of its two directions."""

    name: str
    _: KW_ONLY
    # sign of the direction; when: which of the events came first; change: how neighbouring states differ
    kind: SkillKind
    backward: str  # class of the turn played backwards
    forward: str  # class of the turn as drawn
    shortest: int  # fewest steps of a turn that differs from every turn played backwards
    # function from the number of steps to the turns with all values of a discrete parameter (a gap), equally frequent
    turns: Callable[[int], Sequence[Turn]]
    # whether a turn has a first step; it has none if its motion goes on evenly from a random state
    seam: bool = True

    def __reduce__(self) -> tuple[Callable[[str], "Skill"], tuple[str]]:
        return find_skill, (self.name,)  # pickled by name: turns are functions of no module

    def film(self, rng: Rng, steps: int, first: int) -> Film:
        """Draw a turn, and play it from step ``first``."""
        turns = self.turns(steps)
        chosen = int(rng.integers(len(turns)))
        turn = turns[chosen](rng, steps)
        return rolled(turn, first) if self.seam else turn


def rolled(turn: Film, first: int) -> Film:
    """Return a turn that begins with its step ``first`` and wraps round."""
    return turn[first:] + turn[:first]


def drift(rng: Rng, steps: int) -> Film:
    """Move a shape to the right by 6 to 11 % of the picture per step; it leaves and re-enters at the edges."""
    figure = _figure(rng)
    start = rng.uniform(0, 1)
    step = rng.uniform(0.06, 0.11)
    return _moved(figure, x=(start + step * np.arange(steps)) % 1)


def zoom(rng: Rng, steps: int) -> Film:
    """Grow a shape at a fixed point, from 1 - g to 1 + g times its radius, with a random g from 0.33 to 0.5."""
    figure = _figure(rng)
    growth = rng.uniform(0.33, 0.5)
    return _moved(figure, radius=figure.radius * (1 + growth * np.linspace(-1, 1, steps)))


def rotation(rng: Rng, steps: int) -> Film:
    """Turn two bars about their middle, by 10 to 25 degrees per step, clockwise."""
    figure = _figure(rng, LARGE)
    start = rng.uniform(0, np.pi)
    step = np.deg2rad(rng.uniform(10, 25))
    return _moved(figure, angle=start + step * np.arange(steps))


def order(rng: Rng, steps: int, apart: int) -> Film:
    """Show a bright shape in the first step, and a dark shape at the same point ``apart`` steps later."""
    bright = replace(_figure(rng, LARGE), bright=True)
    film: Film = [[] for _ in range(steps)]
    film[0] = [bright]
    film[apart] = [replace(bright, bright=False)]
    return film


def meeting(rng: Rng, steps: int) -> Film:
    """Move two shapes towards each other, from nearly half the picture apart, until they overlap by half.

    Their middle and the line between them are uniform on the torus. One shape alone therefore moves in any direction
    from any place, forwards and backwards alike.
    """
    middle = _figure(rng, radius=(0.12, 0.15), margin=0)
    angle = rng.uniform(0, 2 * np.pi)
    away = np.linspace(rng.uniform(0.22, 0.25), 0.5 * middle.radius, steps)
    dx = away * np.cos(angle)
    dy = away * np.sin(angle)
    first_shape = _moved(middle, x=(middle.x + dx) % 1, y=(middle.y + dy) % 1)
    second_shape = _moved(middle, x=(middle.x - dx) % 1, y=(middle.y - dy) % 1)
    return [first + second for first, second in zip(first_shape, second_shape, strict=True)]


def duration(rng: Rng, steps: int, gap: int) -> Film:
    """Show a shape for three steps, nothing for ``gap`` steps, and the shape again for one step."""
    figure = _figure(rng)
    shown = {0, 1, 2, 3 + gap}
    return [[figure] if t in shown else [] for t in range(steps)]


def count(rng: Rng, steps: int, pauses: Sequence[int]) -> Film:
    """Flash once, twice and three times; ``pauses`` are the dark steps after each of the three bursts."""
    figure = _figure(rng)
    film: Film = []
    for flashes, pause in zip(FLASHES, pauses, strict=True):
        burst: Film = [[figure], []] * flashes
        film += burst[:-1] + [[]] * pause
    return film


def speed(rng: Rng, steps: int) -> Film:
    """Move a shape in any direction, faster and faster; it leaves and re-enters at the edges.

    Start and direction are uniform on the torus, so place and velocity are those of a film played backwards: only
    two velocities show the direction. At the seam the shape jumps back to the start, in any direction as well.
    """
    start = _figure(rng, margin=0)
    angle = rng.uniform(0, 2 * np.pi)
    slow = rng.uniform(0.02, 0.035)
    fast = rng.uniform(0.06, 0.09)
    far = np.cumsum(np.linspace(slow, fast, steps))
    return _moved(start, x=(start.x + far * np.cos(angle)) % 1, y=(start.y + far * np.sin(angle)) % 1)


def occlusion(rng: Rng, steps: int, gap: int) -> Film:
    """Move a bright and a dark shape once round the picture; walls that look like the background hide each in turn.

    The walls hide the bright shape for a quarter of the turn and, ``gap`` steps later, the dark one. Rows, places of
    the walls and both ways of moving are random on their own, so places and velocities tell nothing until both were
    seen to vanish.
    """
    radius = rng.uniform(0.1, 0.13)
    bright_row, dark_row = rng.permutation([0.28, 0.72])
    hidden = hidden_steps(steps)

    film: Film = [[] for _ in range(steps)]
    for bright, first_hidden, y in ((True, 0, bright_row), (False, hidden + gap, dark_row)):
        start = rng.uniform(0, 1)
        way = rng.choice([-1, 1])
        for time in range(steps):
            if not first_hidden <= time < first_hidden + hidden:
                x = (start + way * time / steps) % 1
                film[time].append(Figure(float(x), float(y), float(radius), bright=bright))
    return film


def _figure(rng: Rng, radius: tuple[float, float] = (0.14, 0.19), margin: float = 0.3) -> Figure:
    """Return a figure of random size and position; its centre is at least ``margin`` from the edges."""
    x, y = rng.uniform(margin, 1 - margin, 2)
    smallest, largest = radius
    size = rng.uniform(smallest, largest)
    return Figure(float(x), float(y), float(size), bright=bool(rng.integers(2)))


def _moved(figure: Figure, **values: NDArray[Any]) -> Film:
    """Return a film of one figure; ``values`` has an attribute's value for each step."""
    steps = min(len(values_of_steps) for values_of_steps in values.values())
    film: Film = []
    for step in range(steps):
        changes = {name: values_of_steps[step] for name, values_of_steps in values.items()}
        film.append([replace(figure, **changes)])
    return film


def gaps(steps: int) -> list[int]:
    """Return the gaps of ``duration``: 1 and 2, or only 1 in a short turn.

    Backwards, the gap and the rest of the turn change places, so the shortest rest must be longer than the longest gap.
    """
    shown = 4
    widest = 2
    rest = steps - shown - widest
    return [1, widest] if rest > widest else [1]


def hidden_steps(steps: int) -> int:
    """Return for how many steps ``occlusion`` hides each shape."""
    return steps // 4


def gaps_between_walls(steps: int) -> list[int]:
    """Return the gaps of ``occlusion``, all that are shorter than the rest of the turn, in which both are shown too."""
    shown = steps - 2 * hidden_steps(steps)
    return [*range(1, (shown + 1) // 2)]


def pauses(steps: int) -> list[tuple[int, ...]]:
    """Return all triples of pauses of ``count`` that fill a turn, each within 2 steps of a third of the dark steps."""
    dark_steps = steps - sum(2 * flashes - 1 for flashes in FLASHES)
    third = dark_steps // len(FLASHES)  # rounded down
    lengths = range(max(LEAST_PAUSE, third - 1), third + 2 + 1)
    candidates = product(lengths, repeat=len(FLASHES))
    return [candidate for candidate in candidates if sum(candidate) == dark_steps]


def _one(turn: Turn) -> Callable[[int], list[Turn]]:
    """Return the ``turns`` of a skill that has one turn for any number of steps."""
    return lambda steps: [turn]


_SKILLS = (
    Skill(
        "drift",
        kind="change",
        backward="left",
        forward="right",
        shortest=2,
        turns=_one(drift),
        seam=False,
    ),
    Skill(
        "zoom",
        kind="change",
        backward="shrinking",
        forward="growing",
        shortest=3,
        turns=_one(zoom),
    ),
    Skill(
        "rotation",
        kind="change",
        backward="counterclockwise",
        forward="clockwise",
        shortest=2,
        turns=_one(rotation),
        seam=False,
    ),
    Skill(
        "meeting",
        kind="change",
        backward="parting",
        forward="meeting",
        shortest=3,
        turns=_one(meeting),
    ),
    Skill(
        "speed",
        kind="change",
        backward="slowing",
        forward="speeding",
        shortest=4,
        turns=_one(speed),
    ),
    Skill(
        "duration",
        kind="when",
        backward="long last",
        forward="long first",
        shortest=7,
        turns=lambda steps: [partial(duration, gap=gap) for gap in gaps(steps)],
    ),
    Skill(
        "count",
        kind="when",
        backward="three two one",
        forward="one two three",
        shortest=15,
        turns=lambda steps: [partial(count, pauses=lengths) for lengths in pauses(steps)],
    ),
    Skill(
        "occlusion",
        kind="when",
        backward="dark first",
        forward="bright first",
        shortest=5,
        turns=lambda steps: [partial(occlusion, gap=gap) for gap in gaps_between_walls(steps)],
    ),
)


def find_skill(name: str) -> Skill:
    """Return a skill by its name: one in ``_SKILLS``, or orderN for two events N steps apart.

    On a circle of T steps, events N apart are T - N apart the other way round, so a turn has more than 2 N steps.
    """
    apart = events_apart(name)
    if apart:
        return Skill(
            name,
            kind="when",
            backward="dark first",
            forward="bright first",
            shortest=2 * apart + 1,
            turns=_one(partial(order, apart=apart)),
        )

    skills = {skill.name: skill for skill in _SKILLS}
    if name not in skills:
        raise ValueError(f"skills has {name!r}, expected {', '.join(skills)}, or order1, order2, ...")
    return skills[name]


def events_apart(name: str) -> int | None:
    """Return N of orderN, the steps between its two events; ``None`` for other skills."""
    match = re.fullmatch(r"order([1-9]\d?)", name)
    return int(match[1]) if match else None
