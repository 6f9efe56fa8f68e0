"""The ``attention`` command: what a model attends to, as a picture."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_output, add_shared, check_file, positive, writing
from lit_video.commands.checkpoint import settings_of
from lit_video.commands.embed import test_split
from lit_video.commands.parser import Parser
from lit_video.errors import UserError
from lit_video.inference.options import MOVING, STILL
from lit_video.utils.files import write_bytes
from lit_video.utils.parallel import with_progress
from lit_video.utils.text import did_you_mean

if TYPE_CHECKING:
    from lit_video.inference.attention_picture import AttentionMaps
    from lit_video.inference.checkpoints import TrainedModel
    from lit_video.tables.predictions import TaskPredictions
    from lit_video.video.clips import VideoRecord


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("video.mp4 --ckpt RUN -o maps.gif", "--ckpt RUN -o attention")
    parser.add_argument("video", nargs="?", metavar="VIDEO", help="a video, or a folder of pictures with --fps")
    add_shared(parser, "--ckpt", required=True)
    ways = "attention.png, heads.png; without a video the folder attention"
    add_output(parser, "FILE|DIR", otherwise=ways, endings=[*STILL, *MOVING])
    text = "the true class (default: the video's folder, if it is one)"
    parser.add_argument("--label", metavar="CLASS", help=text)
    text = "follow attention through all layers of the encoder (default), or through the last one only"
    parser.add_argument("--layers", choices=["all", "last"], default="all", help=text)
    text = "follow it from this patch of the last layer, counted from 0, instead of from what is classified"
    parser.add_argument("--token", type=_patch, metavar="T,ROW,COLUMN", help=text)
    parser.add_argument("--heads", action="store_true", help="draw each head of the last layer alone")
    parser.add_argument("--each", type=positive, default=3, metavar="N", help="videos of each class (default: 3)")
    add_shared(parser, "--fps", "--device")


def run(arguments: Namespace) -> int:
    """Draw where a trained model looks in a video.

    Attention rollout from what is classified back to the patches of every frame, in the centre view of the video: as a
    picture (.png), or moving (.gif, .mp4). With --heads, each head of the last layer alone (.png). Without a video, of
    the run's test: a picture of each class into the folder -o, the videos that the test got wrong first.
    """
    name = "heads.png" if arguments.heads else "attention.png" if arguments.video else "attention"
    arguments.output = arguments.output or Path(name)
    _check(arguments)
    if arguments.video is None:
        return draw_test(arguments)
    content = _maps(arguments)
    with writing("--output", arguments.output):
        write_bytes(arguments.output, content)
    print(f"wrote {arguments.output}", file=sys.stderr)
    return 0


def draw_test(arguments: Namespace) -> int:
    """Write a picture of every class of the test into the folder; returns the exit status."""
    from lit_video.inference.attention_maps import load_with_attention
    from lit_video.inference.attention_picture import pictures_of

    config, folder = settings_of(arguments.ckpt), arguments.output
    trained = load_with_attention(arguments.ckpt)
    task, records = _tested(config, trained)
    with writing("--output", folder):
        folder.mkdir(parents=True, exist_ok=True)
    classes = [number for number in range(len(task.classes)) if (task.target == number).any()]
    for number in with_progress(classes, len(classes), "attention, classes"):
        name = task.classes[number]
        rows = worst_first(task, number)[: arguments.each]
        maps = [_pictures(trained, records[i], task, i, arguments.device) for i in rows]
        of_class = task.target == number
        right = int((task.hits() & of_class).sum())
        title = f"{name}: {right} of {int(of_class.sum())} test videos right"
        with writing("--output", folder):
            write_bytes(folder / file_name(number, task.classes), pictures_of(maps, title))
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


def _pictures(
    trained: TrainedModel, record: VideoRecord, task: TaskPredictions, row: int, device: str | None
) -> AttentionMaps:
    """Attention to a video of the test, and whether the test got it right."""
    from lit_video.inference.attention_maps import Follow, label_name, maps_of

    maps = maps_of(trained, record, Follow(), label_name(record, trained.class_names), device)  # type: ignore[arg-type]
    verdict, best = "right" if task.hits()[row] else "wrong", task.classes[task.predicted[row]]
    test = f"{verdict} in the test, over all views: {best}, {100 * task.confidence[row]:.0f} %"
    return replace(maps, lines=[maps.lines[0], f"{maps.lines[1]}; {test}", *maps.lines[2:]])


def _maps(arguments: Namespace) -> bytes:
    # here, because importing torch takes seconds
    from lit_video.inference.attention_maps import Follow, attention_of_heads, load_with_attention, maps_of, one_video
    from lit_video.inference.attention_picture import encoded, heads_picture, moving, picture

    (record,) = one_video(arguments.video, arguments.fps)
    trained = load_with_attention(arguments.ckpt)
    label, ending = _label(arguments, record, trained), arguments.output.suffix.lower()
    if arguments.heads:
        return heads_picture(attention_of_heads(trained, record, label, arguments.device))
    follow = Follow(arguments.token, arguments.layers == "last")
    maps = maps_of(trained, record, follow, label, arguments.device)
    return encoded(moving(maps), ending) if ending in MOVING else picture(maps)


def _label(arguments: Namespace, record: VideoRecord, trained: TrainedModel) -> str | None:
    """The true class: as given, or the video's folder.

    Raises:
        UserError: the model has no such class.
    """
    from lit_video.inference.attention_maps import folder_class

    given, names = arguments.label, trained.class_names
    if given is None:
        return folder_class(record.path, trained)
    if isinstance(names, list) and given not in names:
        raise UserError(f"--label {given}: no class of the model{did_you_mean(given, names)}; it has {_some(names)}")
    return str(given)


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _check(arguments: Namespace) -> None:
    """Refuse flags that do not go together.

    Raises:
        UserError: they do not.
    """
    if arguments.heads and (arguments.token or arguments.layers != "all"):
        raise UserError("--heads: is about the last layer; leave out --token and --layers")
    ending = arguments.output.suffix.lower()
    if arguments.video is None:
        if given := next((name for name in ("label", "token", "heads") if getattr(arguments, name)), None):
            raise UserError(f"--{given}: is about one video; give it")
        if ending in STILL + MOVING:
            given = f"--output {arguments.output}"
            raise UserError(f"{given}: without a video it is a folder of pictures; give one, or a video")
        return
    allowed = STILL if arguments.heads else STILL + MOVING
    if ending not in allowed:
        raise UserError(f"--output {arguments.output}: ends in none of {', '.join(allowed)}")
    check_file("--output", arguments.output)


def _patch(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ArgumentTypeError(f"is {text}, expected frame, row and column of a patch, such as 0,3,2")
    return tuple(map(int, parts))
