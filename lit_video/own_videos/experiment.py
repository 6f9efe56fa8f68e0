"""The experiment of a plan: an ordinary YAML file that ``fit`` runs, and the table of the videos beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from lit_video.own_videos.choices import Choice, as_lines, nested
from lit_video.own_videos.finding import OwnVideo
from lit_video.utils.files import write_atomically, write_table

VIDEOS = "videos.csv"
TIMES = ("start", "end")  # columns of a table that say which part of a video is meant


def write_videos(path: Path, videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> None:
    """The table that divides the videos."""
    times = [name for name in TIMES if any(video.columns.get(name) for video in videos)]
    rows = [
        [video.path, video.label, video.split, *([groups[i]] if groups else []), *(video.columns[n] for n in times)]
        for i, video in enumerate(videos)
    ]
    write_table(path, [["path", "label", "split", *(["group"] if groups else []), *times], *rows])


def write_experiment(
    path: Path,
    command: str,
    root: Path,
    model: str,
    choices: Sequence[Choice],
    rows: Mapping[str, Mapping[str, Any]],
    notes: Sequence[str],
    validates: bool,
) -> None:
    """The YAML file, with every choice and its reason on top.

    Args:
        path: of the file; ``videos.csv`` lies beside it.
        command: that makes it.
        root: folder of the videos.
        model: class that the rows start from.
        choices: settings.
        rows: of the table: label, and what they set.
        notes: lines on the videos and on what the test can decide.
        validates: whether some videos validate.
    """
    settings = nested(choices)
    data = {
        "root": str(root.resolve()),
        "train": str((path.parent / VIDEOS).resolve()),
        "split_column": "split",
        "train_values": ["train"],
        # where none validate, the curve is of the test videos, and chooses nothing
        **({"val_values": ["val"], "test_values": ["test"]} if validates else {"val_values": ["test"]}),
        **settings["data"],
    }
    content = {
        "trainer": {"accelerator": "auto", "devices": 1} | settings["trainer"],
        "data": {"class_path": "VideoCSV", "init_args": data},
        "model": {"class_path": model, "init_args": settings["model"]},
        "table": {
            "title": f"Videos of {root.resolve().name}",
            "source": "your own videos",
            "scale": "own",
            "metric": "test/video_top1",
            "rows": dict(rows),
        },
    }
    lines = [f"Made by {command}", f"Run by  python -m lit_video fit --config {path} --runs {path.parent / 'runs'}"]
    lines += ["", *notes, "", "Choices, and why:", *(f"  {line}" for line in as_lines(choices))]
    header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    write_atomically(path, header + yaml.safe_dump(content, sort_keys=False, width=120))
