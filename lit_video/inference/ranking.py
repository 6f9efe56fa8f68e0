"""Ranking of predicted classes, as tables and files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lit_video.errors import UserError
from lit_video.utils.classes import by_task
from lit_video.utils.files import write_table
from lit_video.utils.text import text_table

ClassNames = list[str] | dict[str, list[str]]
ONLY_TASK = "class"
YES = {True: "yes", False: "no", None: ""}  # values of the column trained_on


@dataclass(frozen=True)
class Ranked:
    """A class, or a combination of the tasks' classes, and its probability."""

    name: str
    probability: float


@dataclass(frozen=True)
class RankedVideo:
    """Predicted classes of one video."""

    path: Path  # the video
    # task -> its classes, most probable first; a single task is called class. With several tasks, the combinations of
    # their classes have the key action (for verb and noun) or all
    ranked: dict[str, list[Ranked]]
    trained_on: bool | None = None  # ``None`` if unknown


def ranked_videos(
    paths: Sequence[Path],
    logits: Tensor,
    class_names: ClassNames,
    *,
    top: int,
    several_labels: bool = False,
    trained_on: Sequence[bool | None] = (),
) -> list[RankedVideo]:
    """Rank every video's classes by logits ``(videos, classes)``, concatenated over tasks.

    A task's probabilities add up to one; with ``several_labels`` they are independent.
    """
    for path, finite in zip(paths, logits.isfinite().all(1).tolist(), strict=True):
        if not finite:  # softmax and rank would still give a class
            raise UserError(f"{path}: the model's logits are not finite, so there is no prediction; check its weights")

    names_by_task = by_task(class_names, ONLY_TASK)
    videos = [RankedVideo(path, {}, was_seen) for path, was_seen in zip_longest(paths, trained_on)]

    counts = [len(names) for names in names_by_task.values()]
    logits_by_task = torch.split(logits, counts, dim=1)  # an error if names and logits differ in number
    for (task, names), task_logits in zip(names_by_task.items(), logits_by_task, strict=True):
        probabilities = task_logits.sigmoid() if several_labels else task_logits.softmax(1)
        for video, of_video in zip(videos, probabilities, strict=True):
            values, order = of_video.sort(descending=True, stable=True)
            best = zip(values[:top].tolist(), order[:top].tolist(), strict=True)
            video.ranked[task] = [Ranked(names[i], value) for value, i in best]

    if len(names_by_task) > 1:
        combination = "action" if names_by_task.keys() == {"verb", "noun"} else "all"
        for video in videos:
            video.ranked[combination] = combined([*video.ranked.values()], top)
    return videos


def combined(tasks: Sequence[list[Ranked]], top: int) -> list[Ranked]:
    """Return the most probable combinations of one class of each task, by the product of the probabilities.

    The best combinations consist of the tasks' most probable classes, so ``top`` classes of each task are enough.
    """

    def pairs(firsts: list[Ranked], seconds: list[Ranked]) -> list[Ranked]:
        combinations = []
        for first in firsts:
            for second in seconds:
                name = f"{first.name}, {second.name}"
                combinations.append(Ranked(name, first.probability * second.probability))
        return sorted(combinations, key=lambda pair: -pair.probability)[:top]

    return reduce(pairs, tasks)


def table_of(videos: Sequence[RankedVideo]) -> str:
    """Return a text table with a line per video and rank; an empty text without videos."""
    return text_table("", *ranking_table(videos)) if videos else ""


def ranking_table(videos: Sequence[RankedVideo]) -> tuple[list[str], list[list[str]]]:
    """Return header and body of a table with a line per video and rank."""
    header = ["video"]
    for task in videos[0].ranked:
        header += [task, "%"]
    has_marks = any(video.trained_on for video in videos)
    if has_marks:
        header.append("")

    body = []
    for video in videos:
        name = str(video.path)
        mark = "trained on" if video.trained_on else ""
        for classes in zip_longest(*video.ranked.values()):
            cells = [name]
            for ranked in classes:
                cells += [ranked.name, f"{100 * ranked.probability:.1f}"] if ranked else ["", ""]
            if has_marks:
                cells.append(mark)
            body.append(cells)
            name = mark = ""  # on a video's first line only
    return header, body


def summary_of(videos: Sequence[RankedVideo]) -> str:
    """Return a text table with a line per predicted class: the number of its videos, and the least certain of them.

    The text is empty without videos.
    """
    if not videos:
        return ""

    body = []
    for task in videos[0].ranked:
        by_class: dict[str, list[RankedVideo]] = {}
        for video in videos:
            by_class.setdefault(video.ranked[task][0].name, []).append(video)

        for name, of_class in sorted(by_class.items(), key=lambda item: -len(item[1])):
            shares = {video.path: 100 * video.ranked[task][0].probability for video in of_class}
            least = min(shares, key=lambda path: shares[path])
            mean = sum(shares.values()) / len(shares)
            body.append([task, name, str(len(of_class)), f"{mean:.0f}", f"{least} ({shares[least]:.0f} %)"])
    return text_table("", ["task", "taken for", "videos", "mean %", "least sure"], body)


def write_ranking(path: Path, videos: Sequence[RankedVideo], broken: Mapping[Path, str]) -> None:
    """Write a ``.csv`` with a row per video: its classes, most probable first, or the reason why it cannot be read.

    The columns of the n-th class of a task are ``TASK_n`` and ``TASK_n_probability``, without the number for the first.

    Raises:
        OSError: the file cannot be written.
    """
    most = {task: 0 for video in videos for task in video.ranked}
    for video in videos:
        for task, best in video.ranked.items():
            most[task] = max(most[task], len(best))

    names = [task if rank == 1 else f"{task}_{rank}" for task, ranks in most.items() for rank in range(1, ranks + 1)]
    header = ["path", *(column for name in names for column in (name, f"{name}_probability")), "trained_on", "broken"]
    rows: list[Sequence[object]] = [header]
    for video in videos:
        cells: list[object] = []
        for task, ranks in most.items():
            for ranked, _ in zip_longest(video.ranked[task], range(ranks)):
                cells += [ranked.name, f"{ranked.probability:.6g}"] if ranked else ["", ""]
        rows.append([video.path, *cells, YES[video.trained_on], ""])

    for unread, reason in broken.items():
        rows.append([unread, *[""] * 2 * len(names), "", reason])
    write_table(path, rows)


def write_features(path: Path, videos: Sequence[Path], features: Tensor, *, logits: Tensor, names: ClassNames) -> None:
    """Write .npz: ``features`` (videos, width), ``paths``, ``logits`` (videos, classes), ``class_names``, ``tasks``.

    ``class_names`` and ``tasks`` name the columns of ``logits``. Nothing is pickled.
    """
    tasks: list[str] = []
    class_names: list[str] = []
    for task, names_of_task in by_task(names, ONLY_TASK).items():
        tasks += [task] * len(names_of_task)
        class_names += names_of_task

    texts = np.array([*tasks, *class_names], dtype=np.str_)
    arrays: dict[str, Any] = {
        "features": features.numpy(),
        "logits": logits.numpy(),
        "class_names": texts[len(tasks) :],
        "tasks": texts[: len(tasks)],
        "paths": np.array([str(video) for video in videos], dtype=np.str_),
    }
    with path.open("wb") as file:
        np.savez(file, **arrays)
