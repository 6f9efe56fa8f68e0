"""Tell the direction of temporal skills from the states of two neighbouring frames whose time is known.

``python -m benchmarks.two_frames -o two_frames.json`` draws the films of every skill, at 8 and 16 steps, and
describes two neighbouring frames by all parameters of their figures, without noise: who is shown, place, size, angle,
and how they differ between figures and between frames. Gradient boosting learns the direction from 8,000 films and
their reverses; 4,000 others test it, at the first, the middle and the last pair of frames, the best of which counts
(standard error at most 0.8 points). ``alone`` gives the first figure only. The table ``TWO_FRAMES`` of
``lit_video/datamodules/floors.py`` holds these values for skills with continuous states, rounded to 50 or 100 where a
symmetry, or states that never occur in the other direction, shows that they are exact.
"""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.harness import parser, provenance, ran
from lit_video.datamodules.drawing import Figure
from lit_video.datamodules.films import Skill, find_skill
from lit_video.training.command_line import recorded_command
from lit_video.utils.files import write_atomically
from lit_video.utils.yaml_files import EXPERIMENTS, read_yaml

LENGTHS = (8, 16)
TRAINED, TESTED = 8_000, 4_000
FIGURES = 2  # most figures of a frame
STATES = 6  # numbers of a figure
NOT_SHOWN = -9.0  # far from all numbers of figures, and of their differences
Floats = NDArray[np.float64]


def skill_names() -> list[str]:
    """Return the names of the skills of the largest data set in experiments/."""
    names: list[str] = read_yaml(EXPERIMENTS / "scale/twelve.yaml")["data"]["init_args"]["skills"]
    return names


def slots(figures: Sequence[Figure]) -> list[Figure | None]:
    """Return a frame's figures at fixed places of a list: alike in their order, else bright before dark."""
    if len({figure.bright for figure in figures}) < len(figures):
        return [*figures]
    by_brightness = {figure.bright: figure for figure in figures}
    return [by_brightness.get(True), by_brightness.get(False)]


def numbers_of_frame(figures: Sequence[Figure]) -> list[list[float]]:
    """Return place, size, angle, brightness of each figure of a frame, and that it is shown; NaN for a missing one."""
    missing = [np.nan] * STATES
    states = []
    for figure in slots(figures):
        if figure is None:
            states.append(missing)
        else:
            states.append([figure.x, figure.y, figure.radius, figure.angle % np.pi, float(figure.bright), 1.0])
    return states + [missing] * (FIGURES - len(states))


def numbers_of_pairs(states: Floats) -> Floats:
    """Return what pairs of frames show, ``(pairs, numbers)``, from states of figures ``(pairs, 2, FIGURES, STATES)``.

    ``NOT_SHOWN`` stands where a figure is missing.
    """
    between_frames = states[:, 1] - states[:, 0]
    apart = on_torus(states[:, :, 1, :2] - states[:, :, 0, :2])
    distances = np.hypot(apart[..., 0], apart[..., 1])
    parts = (
        states,
        on_torus(between_frames[..., :2]),
        between_frames[..., 2],
        turned(between_frames[..., 3]),
        apart,
        distances,
        distances[:, 1] - distances[:, 0],
    )
    numbers = np.hstack([part.reshape(len(states), -1) for part in parts])
    # the last digits, which no picture shows, tell how a place was computed
    return np.nan_to_num(numbers.round(6), nan=NOT_SHOWN)


def on_torus(change: Floats) -> Floats:
    """Return differences of places the shorter way round, from -0.5 to 0.5."""
    return np.asarray((change + 0.5) % 1 - 0.5)


def turned(change: Floats) -> Floats:
    """Return differences of angles the shorter way round, from -pi / 2 to pi / 2: bars look alike upside down."""
    return np.asarray((change + np.pi / 2) % np.pi - np.pi / 2)


def best_told(skill: Skill, steps: int, *, alone: bool = False, films: tuple[int, int] = (TRAINED, TESTED)) -> float:
    """Return in percent how often two neighbouring frames tell the direction, at the best of three times.

    ``films`` are the numbers of films for training and test; ``alone`` hides all figures but the first.
    """
    rng = np.random.default_rng(0)
    shown = np.empty((sum(films), 2, steps, FIGURES, STATES))  # a film, then its reverse
    for number in range(sum(films)):
        film = [numbers_of_frame(figures) for figures in skill.film(rng, steps, first=number % steps)]
        shown[number] = film, film[::-1]
    if alone:
        shown[:, :, :, 1:] = np.nan

    directions = np.tile([1, 0], sum(films))
    trained = 2 * films[0]
    shares = []
    for time in sorted({0, (steps - 2) // 2, steps - 2}):
        inputs = numbers_of_pairs(shown[:, :, time : time + 2].reshape(-1, 2, FIGURES, STATES))
        with threadpool_limits(1):  # many threads on few cores wait for each other for minutes
            model = HistGradientBoostingClassifier(random_state=0).fit(inputs[:trained], directions[:trained])
            shares.append((model.predict(inputs[trained:]) == directions[trained:]).mean())
    return round(100 * float(max(shares)), 1)


def main() -> int:
    """Measure, print and store the accuracies."""
    made = parser("two_frames", __doc__)
    made.add_argument("--skills", nargs="+", default=skill_names())
    made.add_argument("--steps", nargs="+", type=int, default=[*LENGTHS])
    given = made.parse_args()
    told: dict[str, dict[str, float]] = {}
    for name in given.skills:
        skill = find_skill(name)
        for alone in (False, True) if name == "meeting" else (False,):
            shares = {}
            for steps in given.steps:
                if steps >= skill.shortest:
                    shares[str(steps)] = best_told(skill, steps, alone=alone)
            label = f"{name}, one figure alone" if alone else name
            told[label] = shares
            print(f"{label:27}" + "".join(f"{share:6.1f} at {steps}" for steps, share in shares.items()), flush=True)
    if given.output:
        words = ["--skills", *given.skills, "--steps", *map(str, given.steps), "-o", "two_frames.json"]
        facts = provenance(recorded_command(words, "python -m benchmarks.two_frames"), "cpu", "scikit-learn")
        write_atomically(given.output, json.dumps(facts | {"accuracy": told}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    ran(main)
