"""The ``attention`` command: what a model attends to, as a picture."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_output, add_shared, check_file, writing
from lit_video.commands.checkpoint import settings_of
from lit_video.commands.embed import test_split
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.utils.files import write_bytes
from lit_video.utils.parallel import with_progress

if TYPE_CHECKING:
    from lit_video.inference.attention_picture import AttentionMaps
    from lit_video.inference.checkpoints import TrainedModel
    from lit_video.tables.predictions import TaskPredictions
    from lit_video.video.clips import VideoRecord

EACH = 3  # videos of each class of a test


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.png", "--ckpt RUN -o attention")
    parser.add_argument("video", nargs="?", metavar="VIDEO", help="a video, or a folder of pictures with --fps")
    add_shared(parser, "--ckpt", required=True)
    ways = "attention.png; without a video the folder attention"
    add_output(parser, "FILE|DIR", otherwise=ways, endings=[".png"])
    parser.add_argument("--heads", action="store_true", help="draw each head of the last layer alone")
    add_shared(parser, "--fps", "--device")


def run(arguments: Namespace) -> int:
    """Draw where a trained model looks in a video.

    Attention rollout from what is classified back to the patches of every frame, in the centre view of the video. With
    --heads, each head of the last layer alone. Without a video, of the run's test: a picture of each class into the
    folder -o, the videos that the test got wrong first.
    """
    output: Path = arguments.output or Path("attention.png" if arguments.video else "attention")
    if arguments.video is None:
        if arguments.heads:
            raise UserError("--heads: is about one video; give it")
        if output.suffix.lower() == ".png":
            raise UserError(f"--output {output}: without a video it is a folder of pictures; give one, or a video")
        return draw_test(arguments, output)
    if output.suffix.lower() != ".png":
        raise UserError(f"--output {output}: does not end in .png")
    check_file("--output", output)
    from lit_video.inference.attention_maps import load_with_attention, maps_of_video, one_video
    from lit_video.inference.attention_picture import picture

    record, trained = one_video(arguments.video, arguments.fps), load_with_attention(arguments.ckpt)
    content = picture(*maps_of_video(trained, record, arguments.device, heads=arguments.heads))
    with writing("--output", output):
        write_bytes(output, content)
    print(f"wrote {output}", file=sys.stderr)
    return 0


def draw_test(arguments: Namespace, folder: Path) -> int:
    """Write a picture of every class of the test into the folder; returns the exit status."""
    from lit_video.inference.attention_maps import load_with_attention
    from lit_video.inference.attention_picture import picture

    config = settings_of(arguments.ckpt)
    trained = load_with_attention(arguments.ckpt)
    task, records = _tested(config, trained)
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
    classes = [number for number in range(len(task.classes)) if (task.target == number).any()]
    for number in with_progress(classes, len(classes), "attention, classes"):
        rows = worst_first(task, number)[:EACH]
        maps = [_maps(trained, records[i], task, i, arguments) for i in rows]
        of_class = task.target == number
        right = int((task.hits() & of_class).sum())
        title = f"{task.classes[number]}: {right} of {int(of_class.sum())} test videos right"
        with writing("--output", folder):
            write_bytes(folder / file_name(number, task.classes), picture(*maps, title=title))
    print(f"wrote {len(classes)} pictures into {folder}", file=sys.stderr)
    return 0


def worst_first(task: TaskPredictions, number: int) -> list[int]:
    """The videos of a class: those that were wrong, the surest first, then those that were right, the surest last."""
    import numpy as np

    share = np.where(task.hits(), task.confidence, -task.confidence)
    of_class = np.flatnonzero(task.target == number)
    return sorted(of_class.tolist(), key=lambda i: (bool(task.hits()[i]), float(share[i])))


def file_name(number: int, classes: Sequence[str]) -> str:
    """Name a class's picture: its number, then as much of its name as suits a file."""
    plain = re.sub(r"[^\w-]+", "_", classes[number]).strip("_")[:60]
    return f"{number:0{len(str(len(classes) - 1))}}_{plain}.png"


def _tested(config: Path, trained: TrainedModel) -> tuple[TaskPredictions, list[VideoRecord]]:
    """A run's predictions (of the first of several tasks), and the video of each.

    Raises:
        UserError: they are not there, or the data set is another one by now.
    """
    from lit_video.tables.predictions import read_predictions

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
    trained: TrainedModel, record: VideoRecord, task: TaskPredictions, row: int, arguments: Namespace
) -> AttentionMaps:
    """Attention to a video of the test, and whether the test got it right."""
    from lit_video.inference.attention_maps import label_name, maps_of_video

    (maps,) = maps_of_video(trained, record, arguments.device, label_name(record, trained.class_names))
    verdict, best = "right" if task.hits()[row] else "wrong", task.classes[task.predicted[row]]
    test = f"{verdict} in the test, over all views: {best}, {100 * task.confidence[row]:.0f} %"
    return replace(maps, lines=[maps.lines[0], f"{maps.lines[1]}; {test}", *maps.lines[2:]])
