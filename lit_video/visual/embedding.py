"""What ``embed`` does: features of labelled videos, in the plane, as a picture and a table."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lit_video.datamodules.base import Split
from lit_video.datamodules.video_list import OwnVideos
from lit_video.errors import UserError
from lit_video.inference.checkpoints import load_trained_model
from lit_video.inference.predict import compute, device, evaluated, find_videos
from lit_video.training.cli import CheckCLI, user_errors
from lit_video.utils.figures import run_name
from lit_video.utils.files import write_bytes, write_table
from lit_video.video.clips import VideoRecord
from lit_video.visual.projection import FEWEST, project
from lit_video.visual.projection_picture import scatter


class LabelledVideos(OwnVideos):
    """Records of a data set on the evaluation path of the one that a model was trained on."""

    def __init__(self, listed: Sequence[VideoRecord], **kwargs: Any) -> None:
        super().__init__([record.path for record in listed], **kwargs)
        self.listed = list(listed)

    def records(self, split: Split) -> list[VideoRecord]:
        """Every video, in any split."""
        return self.listed


def draw_features(asked: Namespace) -> int:
    """Draw what the command line asks for (see ``embed --help``); 1 if a video could not be read.

    Raises:
        UserError: a flag, a path or the checkpoint is wrong, or there are too few videos.
    """
    trained = load_trained_model(asked.ckpt)
    if asked.videos:
        paths = find_videos(asked.videos)
        records, classes = [VideoRecord(path, 0) for path in paths], [path.resolve().parent.name for path in paths]
    else:
        records = test_split(asked.ckpt.parent / "config.yaml")
        classes = class_of(records, trained.class_names, asked.task)
    _enough(len(records), "found")
    data = evaluated(partial(LabelledVideos, records), trained, asked)
    outputs = compute(trained, data, device(asked.device))
    read = [(str(r.path), name) for r, name in zip(records, classes, strict=True) if r.path not in outputs.broken]
    for path, reason in outputs.broken.items():
        print(f"{path}: {reason}", file=sys.stderr)
    _enough(len(read), "could be read")
    places = project(outputs.features.numpy(), asked.method, asked.seed)
    write(asked, places, read)
    return 1 if outputs.broken else 0


def _enough(count: int, what: str) -> None:
    if count < FEWEST:
        videos = "1 video" if count == 1 else f"{count} videos"
        raise UserError(f"{videos} {what}, which is too few to show neighbours; give at least {FEWEST}")


def test_split(config: Path) -> list[VideoRecord]:
    """The test videos of a run's own data set.

    Raises:
        UserError: the run's configuration, or its data, is not there.
    """
    if not config.is_file():
        raise UserError(f"{config}: no such file; give videos, or the last.ckpt in its run's folder")
    with user_errors(lambda key: str(config)):
        data = CheckCLI(["--config", str(config)]).datamodule
        data.prepare_data()
        data.check()
        return data.records("test")


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


def write(asked: Namespace, places: NDArray[np.float64], read: Sequence[tuple[str, str]]) -> None:
    """Write the picture, and the table if asked for.

    Raises:
        UserError: a file cannot be written.
    """
    name = {"tsne": "t-SNE", "umap": "UMAP"}[asked.method]
    title = f"{name} of the features of {len(read)} videos\n{run_name(asked.ckpt)}"
    content = scatter(places, [label for _, label in read], title, asked.output.suffix.lower().removeprefix("."))
    rows = [(path, label, f"{x:.6g}", f"{y:.6g}") for (path, label), (x, y) in zip(read, places.tolist(), strict=True)]
    try:
        write_bytes(asked.output, content)
        if asked.csv:
            write_table(asked.csv, [("path", "class", "x", "y"), *rows])
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from error
    for path in filter(None, (asked.output, asked.csv)):
        print(f"wrote {path}", file=sys.stderr)
