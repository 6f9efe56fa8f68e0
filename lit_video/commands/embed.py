"""The ``embed`` command: features of videos in the plane, as a picture and a table."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lit_video.commands.arguments import add_evaluation, add_output, add_shared, evaluation, new_file
from lit_video.commands.checkpoint import run_flags, settings_of
from lit_video.commands.parser import Parser
from lit_video.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lit_video.inference.checkpoints import TrainedModel
    from lit_video.video.clips import VideoRecord


def add(parser: Parser) -> None:
    """Examples and arguments."""
    parser.examples("--ckpt RUN", "--ckpt RUN videos -o features.png --csv features.csv")
    parser.add_argument("videos", nargs="*", metavar="VIDEO|FOLDER|GLOB", help="default: the run's test split")
    add_shared(parser, "--ckpt", required=True)
    add_output(parser, "FILE", default="embed.png", endings=[".png", ".svg", ".pdf"])
    parser.add_argument("--method", choices=["tsne", "umap"], default="tsne", help="default: tsne")
    text = "write path, class, x and y of every video"
    parser.add_argument("--csv", type=new_file("--csv", ".csv"), metavar="FILE", help=text)
    text = "task whose classes colour the videos, in a data set with several (default: the first)"
    parser.add_argument("--task", help=text)
    add_shared(parser, "--seed")
    add_evaluation(parser)


def run(arguments: Namespace) -> int:
    """Draw features of videos in the plane, coloured by class.

    The features before the classifier's last layer are brought into the plane so that neighbours stay neighbours.
    Without videos those of the run's own test split (run.json beside the checkpoint) are drawn. The class of your own
    videos is the name of their folder. Exit status 1: a video could not be read.
    """
    if arguments.method == "umap" and find_spec("umap") is None:
        raise UserError("--method umap: umap-learn is not installed; pip install 'lit_video[umap]', or take tsne")
    from lit_video.inference.checkpoints import load_trained_model  # here, because importing torch takes seconds
    from lit_video.inference.predict import compute
    from lit_video.inference.projection import project, require_enough

    trained = load_trained_model(arguments.ckpt)
    records, classes = _videos(arguments, trained)
    require_enough(len(records), "found")
    outputs = compute(trained, records, evaluation(arguments))
    read = [(str(r.path), name) for r, name in zip(records, classes, strict=True) if r.path not in outputs.broken]
    for path, reason in outputs.broken.items():
        print(f"{path}: {reason}", file=sys.stderr)
    require_enough(len(read), "could be read")
    _write(arguments, project(outputs.features.numpy(), arguments.method, arguments.seed), read)
    return 1 if outputs.broken else 0


def _videos(arguments: Namespace, trained: TrainedModel) -> tuple[list[VideoRecord], list[str]]:
    """The videos given, or the test split's, and the names of their classes."""
    from lit_video.inference.predict import find_videos, unlabelled

    if arguments.videos:
        paths = find_videos(arguments.videos, arguments.fps)
        return unlabelled(paths, arguments.fps), [path.resolve().parent.name for path in paths]
    records = test_split(settings_of(arguments.ckpt))
    return records, class_of(records, trained.class_names, arguments.task)


def test_split(config: Path) -> list[VideoRecord]:
    """The test videos of a run's own data set.

    Raises:
        UserError: the run's configuration, or its data, is not there.
    """
    if not config.is_file():
        raise UserError(f"{config}: no such file; give videos, or the last.ckpt in its run's folder")
    from lit_video.training.cli import CheckCLI, user_errors

    with user_errors(lambda key: str(config)):
        data = CheckCLI(run_flags(config)).datamodule
        data.prepare_data()
        data.check()
        return list(data.records("test"))


def class_of(records: Iterable[VideoRecord], names: list[str] | dict[str, list[str]], task: str | None) -> list[str]:
    """Name of every video's class, in one task if there are several.

    Raises:
        UserError: there is no such task.
    """
    if not isinstance(names, dict):
        if task is not None:
            raise UserError(f"--task {task}: the model has one task only; leave the flag out")
        return [names[label] for record in records if isinstance(label := record.label, int)]
    if task is not None and task not in names:
        raise UserError(f"--task {task}: the model's tasks are {', '.join(names)}")
    which = list(names).index(task) if task else 0
    of_task = list(names.values())[which]
    return [of_task[label[which]] for record in records if isinstance(label := record.label, tuple)]


def _write(arguments: Namespace, places: NDArray[np.float64], read: Sequence[tuple[str, str]]) -> None:
    """Write the picture, and the table with ``--csv``.

    Raises:
        UserError: a file cannot be written.
    """
    from lit_video.inference.projection import scatter
    from lit_video.utils.figures import run_name
    from lit_video.utils.files import write_bytes, write_table

    name = {"tsne": "t-SNE", "umap": "UMAP"}[arguments.method]
    title = f"{name} of the features of {len(read)} videos\n{run_name(arguments.ckpt)}"
    content = scatter(places, [label for _, label in read], title, arguments.output.suffix.lower().removeprefix("."))
    rows = [(path, label, f"{x:.6g}", f"{y:.6g}") for (path, label), (x, y) in zip(read, places.tolist(), strict=True)]
    try:
        write_bytes(arguments.output, content)
        if arguments.csv:
            write_table(arguments.csv, [("path", "class", "x", "y"), *rows])
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from error
    for path in filter(None, (arguments.output, arguments.csv)):
        print(f"wrote {path}", file=sys.stderr)
