"""Whether the runs of one table can be compared: the same classes, the same test videos."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lit_video.errors import UserError
from lit_video.tables.damage import Damage
from lit_video.tables.predictions import Predictions
from lit_video.tables.results import OF_ROW, OF_TABLE, alike

ALIKE = OF_TABLE | {"test_videos": OF_ROW["test_videos"]}
TOGETHER = "they do not belong in one table; move one away, or run it again"


def refuse_mixtures(runs: Sequence[tuple[Path, dict[str, Any], Predictions | None]]) -> None:
    """Compare every run with the first one that has the same kind of record.

    Args:
        runs: of each run its folder, its result, and its predictions.

    Raises:
        UserError: two runs differ in their data, classes or test videos, or two seeds of a row in their training;
            names both.
    """
    others = Damage()
    alike([(folder, result) for folder, result, _ in runs], others, ALIKE)
    if others.lines:
        raise UserError(others.lines[0])
    kept = [(folder, predictions) for folder, _, predictions in runs if predictions]
    for folder, predictions in kept[1:]:
        _compare(*kept[0], folder, predictions)


def _compare(first: Path, one: Predictions, second: Path, other: Predictions) -> None:
    if one.tasks.keys() != other.tasks.keys():
        tasks = [", ".join(name or "one alone" for name in predictions.tasks) for predictions in (one, other)]
        raise UserError(f"{first} has tasks ({tasks[0]}), {second} ({tasks[1]}): {TOGETHER}")
    for name, task in one.tasks.items():
        if task.classes != other.tasks[name].classes:
            differing = _first_difference(task.classes, other.tasks[name].classes)
            raise UserError(f"{first} and {second} have other classes ({differing}): {TOGETHER}")
    if not np.array_equal(one.video, other.video):
        alone = np.setxor1d(one.video, other.video)
        which = f"video {alone[0]} is in only one" if len(alone) else "some of them twice"
        raise UserError(f"{first} and {second} were tested on other videos ({which}): {TOGETHER}")
    for name, task in one.tasks.items():
        if len(wrong := np.flatnonzero(task.target != other.tasks[name].target)):
            which = f"video {one.video[wrong[0]]} has another class"
            raise UserError(f"{first} and {second} were tested on other videos ({which}): {TOGETHER}")


def _first_difference(one: list[str], other: list[str]) -> str:
    if len(one) != len(other):
        return f"{len(one)} and {len(other)}"
    i = next(i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
    return f"class {i} is {one[i]!r} and {other[i]!r}"
