"""The file of an experiment on a user's own videos: its path, the user's wishes for its plan, and its content."""

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import yaml

from lit_video.errors import UserError
from lit_video.own_videos.finding import DRAW, OwnVideos, find_own_videos, splits_of, write_videos
from lit_video.own_videos.listed import ColumnsAsked
from lit_video.tables.reading import folder_name
from lit_video.tables.table import OWN_SCALE
from lit_video.utils.annotations import read_annotations
from lit_video.utils.files import write_atomically
from lit_video.utils.text import plural
from lit_video.utils.wandb_login import RECORDED
from lit_video.utils.yaml_files import read_yaml

if TYPE_CHECKING:
    from lit_video.own_videos.plan import Plan

FIRST_ANSWER = "first_answer"  # folder of its experiment, and its key in a plan
VIDEOS_ENDING = "_videos.csv"  # ending of the table of videos, after the experiment's name
LOGGED_NOWHERE = (
    "Nothing of these videos leaves this machine: runs are logged nowhere. With --trainer.logger true they are logged "
    f"to Weights & Biases: {RECORDED}"
)


@dataclass(frozen=True)
class Asked:
    """Wishes of the user; ``None`` leaves the choice to the plan."""

    minutes: float | None = None  # minutes of training
    group: str | None = None  # column that names groups, or none
    split: str | None = None  # column that names the splits, or none
    mirror: bool | None = None  # mirror half of the training clips
    weights: str | None = None  # weights to start from
    frozen: bool | None = None  # freeze the backbone
    scheme: str | None = None  # the scheme of a model from scratch
    schemes: str | None = None  # schemes to compare, with commas

    @property
    def values(self) -> dict[str, Any]:
        """Values by name, without those that are left to the plan."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def columns(self) -> ColumnsAsked:
        """Columns of a table that the user names."""
        return ColumnsAsked(self.group, self.split)

    @property
    def flags(self) -> list[str]:
        """Flags of the command line that ask for the same."""
        return [word for name, value in self.values.items() for word in _flag(name, value)]


def _flag(name: str, value: Any) -> list[str]:
    """Return a wish as the words of the command line."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", f"{value:g}" if isinstance(value, float) else value]


def experiment_file(place: Path, output: Path | None, ending: str = "") -> Path:
    """Return the path of the experiment's file, named after the folder or table of the videos."""
    videos = place.resolve()
    name = folder_name(videos.stem if videos.is_file() else videos.name) or "videos"
    folder = output or Path("own") / name
    if folder.resolve() == videos:
        raise UserError(f"--output {folder}: the table written there would be read as the videos'; give another folder")
    return folder / f"{name}{ending}.yaml"


def elsewhere(file: Path) -> str:
    """Say how to plan anew beside an experiment's file: by a folder that is not there yet."""
    folder = file.parent
    number = 2
    while folder.with_name(f"{folder.name}_{number}").exists():
        number += 1
    return f"to plan anew, give --output {shlex.quote(str(folder.with_name(f'{folder.name}_{number}')))}"


def refuse_runs_without_plan(file: Path) -> None:
    """Refuse to plan anew where an earlier plan's runs are, which no new plan can go on with."""
    runs = file.with_name("runs") / file.stem
    if runs.exists():
        raise UserError(f"{runs}: holds the runs of a plan that is not there any more, {file}; {elsewhere(file)}")


def refuse_other_plan(file: Path, place: Path, asked: Asked) -> str:
    """Refuse to go on with an existing plan if its folder, a video, a label or a wish was another.

    Returns:
        A line about videos that were added later and so are not in the plan; empty if there are none.
    """
    content = read_yaml(file)
    table = content.get("table", {})
    folder = str(place.resolve())
    source = table.get("source", folder)
    if source != folder:
        raise UserError(f"{folder}: {file} is planned already, for the videos in {source}; {elsewhere(file)}")

    data = content.get("data", {}).get("init_args", {})
    planned = table.get("plan", {})
    news = ""
    if {"root", "train"} <= data.keys():
        news = _refuse_other_videos(file, data, find_own_videos(place, planned_columns(planned)))

    for name, value in asked.values.items():
        was = planned.get(name)
        if value != was:
            other = "another" if was is None else " ".join(_flag(name, was))
            what = f"{' '.join(_flag(name, value))}: {file} is planned already, with {other}"
            raise UserError(f"{what}; {elsewhere(file)}")
    return news


def planned_columns(planned: Mapping[str, Any]) -> ColumnsAsked:
    """Return the columns that the user named when a plan was made."""
    return ColumnsAsked(planned.get("group"), planned.get("split"))


def _refuse_other_videos(file: Path, data: Mapping[str, Any], present: OwnVideos) -> str:
    """Refuse if a planned video is gone or has another label; return a line about videos that were added later."""
    from lit_video.datamodules.manifest import MANIFEST, Manifest  # here, because importing torch takes seconds

    root = present.root.resolve()
    labels = {(str(root / video.path), video.start, video.end): video.label for video in present.videos}
    for row in read_annotations("--output", Path(data["train"]), ("path", "label"), files="path"):
        path = str(Path(data["root"], row.text("path")))
        was = row.text("label")
        now = labels.pop((path, *row.segment("start", "end")), "gone")
        if now != was:
            what = f"{path}: was {was} when {file} was planned, is {now} now"
            raise UserError(f"{what}; {elsewhere(file)}")

    manifest = file.with_name(MANIFEST)
    looked_at = Manifest(manifest).facts().keys() if manifest.exists() else ()  # also the videos that were left out
    new = [path for path, _, _ in labels if os.path.relpath(path, root) not in looked_at]
    if not new:
        return ""
    return f"not in this plan: {plural(len(new), 'new video')}, such as {new[0]}; {elsewhere(file)}"


def write_experiment(plan: "Plan", file: Path, asked: Asked, *, command: Sequence[str]) -> Path:
    """Write a plan's table of videos and the experiment's YAML, every choice with its reason on top.

    Args:
        plan: what was found and chosen.
        file: path of the YAML.
        asked: what the user asked for.
        command: words of the command that makes this plan.

    Returns:
        The path of the table of videos.
    """
    from lit_video.own_videos.choices import as_lines  # here, because importing torch takes seconds

    videos = file.with_name(file.stem + VIDEOS_ENDING)
    columns = write_videos(videos, plan.videos, plan.draw_names)
    again = shlex.join(["--config", str(file), "--runs", str(file.parent / "runs")])
    reasons = [
        f"Made by lit_video {shlex.join(command)}",
        f"Run by  lit_video fit {again}",
        "",
        *plan.notes,
        "",
        "Choices, and why:",
        indent("\n".join(as_lines(plan.chosen)), "  "),
        "",
        LOGGED_NOWHERE,
    ]
    comment = indent("\n".join(reasons) + "\n", "# ", lambda line: True).replace("# \n", "#\n")
    readable = comment.encode("utf-8", "backslashreplace").decode()  # a file name need not be UTF-8
    content = _content(plan, videos, columns)
    content["table"]["plan"] = asked.values | ({FIRST_ANSWER: dict(plan.answer.right)} if plan.answer else {})
    write_atomically(file, readable + yaml.safe_dump(content, sort_keys=False, width=120))
    return videos


def first_answers(file: Path) -> Mapping[str, Sequence[int]]:
    """Return right and tested videos of a plan's first answer, by fold or split; empty if it is not to be compared."""
    answers: Mapping[str, Sequence[int]] = read_yaml(file)["table"].get("plan", {}).get(FIRST_ANSWER, {})
    return answers


def write_answer_experiment(file: Path) -> Path:
    """Write the experiment of a plan's first answer, with the plan's videos and splits, in a folder beside the plan.

    Returns:
        The path of its YAML.
    """
    from lit_video.own_videos.choices import Choice, nested, tuning  # here, because importing torch takes seconds
    from lit_video.own_videos.starts import first_answer_start

    start = first_answer_start()
    folder = file.with_name(FIRST_ANSWER)
    choices = [Choice(f"data.{key}", value, "") for key, value in start.clips.items()] + tuning(start)
    settings = nested(choices)
    content = read_yaml(file)
    data = content["data"]["init_args"] | settings["data"] | {"features": str((folder / "features").resolve())}
    data |= {"num_workers": 0, "keep_gb": 0.0}

    planned = content["table"]["rows"]
    rows = dict(start.rows)
    if len(planned) > 1:  # a plan that is divided into folds lists the videos of each
        rows = {}
        for name, row in planned.items():
            videos = {key: value for key, value in row["set"].items() if key.startswith("data.")}
            rows[name] = {"label": f"{start.label}, {row['label'].rpartition(', ')[2]}", "set": videos}

    frozen = {"freeze": "backbone", "probe": start.probe}
    trainer = content["trainer"] | {"max_epochs": 1, "check_val_every_n_epoch": 1}
    trainer.pop("callbacks", None)
    answer = {
        "trainer": trainer,
        "data": {"class_path": "VideoCSV", "init_args": data},
        "model": {"class_path": start.model, "init_args": settings["model"] | frozen},
        "table": {key: content["table"][key] for key in ("source", "scale", "metric")}
        | {"title": f"{content['table']['title']}: first answer", "rows": rows},
    }
    path = folder / f"{file.stem}_{FIRST_ANSWER}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, yaml.safe_dump(answer, sort_keys=False, width=120))
    return path


def _content(plan: "Plan", videos: Path, columns: Collection[str]) -> dict[str, Any]:
    """Return the experiment as nested data."""
    from lit_video.own_videos import choices, dividing  # here, because importing torch takes seconds

    settings = choices.nested(plan.chosen)
    splits = set(splits_of(plan.videos))
    data: dict[str, Any] = {
        "root": str(plan.root.resolve()),
        "train": str(videos.resolve()),
        "columns": list(columns),
        "label_separator": "",  # one label, of any characters
        "split_column": "split",
        "train_values": dividing.fold_names(splits) or ["train"],
        "val_values": ["val"] if "val" in splits else [],
    }
    if "test" in splits:
        data["test_values"] = ["test"]
    if DRAW in columns:
        data["draw_column"] = DRAW
    if len({(video.path, video.split) for video in plan.videos}) > len({video.path for video in plan.videos}):
        data["divides_videos"] = True  # the plan says why
    table = {
        "title": plan.title,
        "source": str(plan.place.resolve()),
        "scale": OWN_SCALE,
        "metric": "test/video_top1",
        "rows": plan.rows,
    }
    return {
        "trainer": {"accelerator": "auto", "devices": 1, "logger": False} | settings["trainer"],
        "data": {"class_path": "VideoCSV", "init_args": data | settings["data"]},
        "model": {"class_path": plan.model, "init_args": settings["model"]},
        "table": table,
    }
