"""``attention`` without a video: pictures of a run's test by class, failures first. Imports no torch by itself."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lit_video.commands.checkpoint import settings_of
from lit_video.commands.embed import test_split
from lit_video.commands.parser import writing
from lit_video.errors import UserError
from lit_video.tables.predictions import TaskPredictions, read_predictions
from lit_video.utils.parallel import with_progress

if TYPE_CHECKING:
    from lit_video.inference.attention_picture import AttentionMaps
    from lit_video.inference.checkpoints import TrainedModel
    from lit_video.video.clips import VideoRecord


def draw_test(arguments: Namespace) -> int:
    """Write a picture of every class of the test into the folder; returns the exit status."""
    from lit_video.inference.attention_maps import load_with_attention
    from lit_video.inference.attention_picture import pictures_of
    from lit_video.utils.files import write_bytes  # here, because importing torch takes seconds

    config, folder = settings_of(arguments.ckpt), arguments.output
    trained = load_with_attention(arguments.ckpt)
    task, records = _tested(config, trained)
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
    classes = [number for number in range(len(task.classes)) if (task.target == number).any()]
    for number in with_progress(classes, len(classes), "attention, classes"):
        name = task.classes[number]
        rows = worst_first(task, number)[: arguments.each]
        maps = [_maps(trained, records[i], task, i, arguments.device) for i in rows]
        of_class = task.target == number
        right = int((task.hits() & of_class).sum())
        title = f"{name}: {right} of {int(of_class.sum())} test videos right"
        with writing("--output", folder):
            write_bytes(folder / file_name(number, task.classes), pictures_of(maps, title))
    print(f"wrote {len(classes)} pictures into {folder}", file=sys.stderr)
    return 0


def worst_first(task: TaskPredictions, number: int) -> list[int]:
    """The videos of a class: those that were wrong, the surest first, then those that were right, the surest last."""
    share = np.where(task.hits(), task.confidence, -task.confidence)
    of_class = np.flatnonzero(task.target == number)
    return sorted(of_class.tolist(), key=lambda i: (bool(task.hits()[i]), float(share[i])))


def file_name(number: int, classes: Sequence[str]) -> str:
    """Of a class's picture: its number, then as much of its name as suits a file."""
    plain = re.sub(r"[^\w-]+", "_", classes[number]).strip("_")[:60]
    return f"{number:0{len(str(len(classes) - 1))}}_{plain}.png"


def _tested(config: Path, trained: TrainedModel) -> tuple[TaskPredictions, list[VideoRecord]]:
    """A run's predictions (of the first of several tasks), and the video of each.

    Raises:
        UserError: they are not there, or the data set is another one by now.
    """
    folder = config.parent
    predictions = read_predictions(folder)
    if predictions is None:
        raise UserError(f"{folder}: holds no predictions.npz of a test; give a video, or a run that was tested")
    records = test_split(config)
    task = next(iter(predictions.tasks.values()))
    numbers = predictions.video.tolist()
    labels = [r.label[0] if isinstance(r.label, tuple) else r.label for r in records]
    if any(i >= len(labels) or labels[i] != target for i, target in zip(numbers, task.target.tolist(), strict=True)):
        raise UserError(f"{config}: its test split is another one by now than predictions.npz is of; test it again")
    return task, [records[i] for i in numbers]


def _maps(
    trained: TrainedModel, record: VideoRecord, task: TaskPredictions, row: int, device: str | None
) -> AttentionMaps:
    """What the model attends to in a video of the test, and whether the test got it right."""
    from lit_video.inference.attention_maps import Follow, label_name, maps_of

    maps = maps_of(trained, record, Follow(), label_name(record, trained.class_names), device)  # type: ignore[arg-type]
    verdict, best = "right" if task.hits()[row] else "wrong", task.classes[task.predicted[row]]
    test = f"{verdict} in the test, over all views: {best}, {100 * task.confidence[row]:.0f} %"
    return replace(maps, lines=[maps.lines[0], f"{maps.lines[1]}; {test}", *maps.lines[2:]])
