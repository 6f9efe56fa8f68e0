"""From a folder of videos to an experiment: looks, divides, measures, chooses, writes, and says every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lit_video.attention.own import import_scheme
from lit_video.datamodules.manifest import MANIFEST, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.errors import UserError
from lit_video.network.cost import count
from lit_video.own_videos.budget import built, clips_per_second, length, of_equal_compute
from lit_video.own_videos.choices import Choice, Machine, as_lines, choose, nested, start_from
from lit_video.own_videos.dividing import divide, find_groups, limits, without_rare
from lit_video.own_videos.finding import OwnVideo, find_videos
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text import did_you_mean
from lit_video.video.decoding import decode

Rows = dict[str, dict[str, Any]]  # of a table: label and settings, by name
# by the short names that ``finetune`` and ``compare`` know
SCHEMES: Rows = {
    "xvit": {"label": "X-ViT, t_w = 1", "set": {"model.window": 1, "model.ta_layers": 1}},
    "xvit2": {"label": "X-ViT, t_w = 2", "set": {"model.window": 2, "model.ta_layers": 1}},
    "space": {"label": "spatial-only", "set": {"model.window": 0, "model.ta_layers": 0}},
    **{
        name: {"label": f"TimeSformer {label}", "set": {"model": "TimeSformer", "model.attention": name}}
        for name, label in {"divided": "T+S", "joint": "ST", "local_global": "L+G", "axial": "T+W+H"}.items()
    },
    **{
        f"vivit{i}": {
            "label": f"ViViT-{i}",
            "set": {"model": "ViViT", "model.variant": i, "model.tubelet": 2, "model.temporal_depth": 2},
        }
        for i in (1, 2, 3, 4)
    },
    "perceiver": {"label": "Perceiver", "set": {"model": "Perceiver", "model.latents": 32, "model.reads": 2}},
}
VIDEOS = "videos.csv"
SHOWN = 5  # videos that are named
SEEN = 50  # videos whose pixels are looked at
MINUTES = {"CPU": 10.0, "GPU": 30.0}
TIMES = ("start", "end")  # columns of a table that say which part of a video is meant


def schemes_named(names: str) -> Rows:
    """Rows of schemes by ``xvit,divided``, or ``MODULE.CLASS`` of one's own, each once.

    Raises:
        UserError: there is no such name.
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    own = {name: _own_row(name) for name in wanted if name not in SCHEMES and "." in name}
    unknown = [name for name in wanted if name not in SCHEMES | own]
    if unknown or not wanted:
        wrong = (unknown or [names])[0]
        raise UserError(f"no scheme {wrong!r}{did_you_mean(wrong, SCHEMES)}; schemes: {', '.join(SCHEMES)}")
    return {own[name]["label"] if name in own else name: (SCHEMES | own)[name] for name in wanted}


def _own_row(text: str) -> dict[str, Any]:
    try:
        name = import_scheme(text)
    except ValueError as error:
        raise UserError(f"--schemes: {error}") from error
    return {"label": name, "set": {"model": "TimeSformer", "model.attention": text}}


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan.

    Args:
        root: folder of the videos.
        file: path of the experiment's YAML.
        command: command line, written into the file.
        schemes: rows by name; ``None`` for the scheme of the weights, or X-ViT.
        weights: to start from; ``None`` to start from scratch.
        minutes: minutes of training per run; ``None`` for the machine's default.
        group: column that says which videos belong together, ``none``, or ``None`` to look for one.
        equal: quantity that all rows share: epochs or compute.
    """

    root: Path
    file: Path
    command: str
    schemes: Rows | None = None
    weights: str | None = None
    minutes: float | None = None
    group: str | None = None
    equal: str = "epochs"


def write_videos(path: Path, videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> None:
    """The table that divides the videos."""
    times = [name for name in TIMES if any(video.columns.get(name) for video in videos)]
    rows = [
        [video.path, video.label, video.split, *([groups[i]] if groups else []), *(video.columns[n] for n in times)]
        for i, video in enumerate(videos)
    ]
    write_table(path, [["path", "label", "split", *(["group"] if groups else []), *times], *rows])


def write_experiment(
    options: PlanOptions,
    model: str,
    choices: Sequence[Choice],
    rows: Rows,
    notes: Sequence[str],
    validates: bool,
) -> None:
    """The YAML file, with every choice and its reason on top; ``videos.csv`` lies beside it.

    Args:
        options: folder of the videos, the file, and the command that makes it.
        model: class that the rows start from.
        choices: settings.
        rows: rows of the table.
        notes: lines on the videos and on what the test can decide.
        validates: whether some videos validate.
    """
    root, path = options.root.resolve(), options.file
    settings = nested(choices)
    data = {
        "root": str(root),
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
            "title": f"Videos of {root.name}",
            "source": "your own videos",
            "scale": "own",
            "metric": "test/video_top1",
            "rows": rows,
        },
    }
    lines = [
        f"Made by {options.command}",
        f"Run by  python -m lit_video fit --config {path} --runs {path.parent / 'runs'}",
    ]
    lines += ["", *notes, "", "Choices, and why:", *(f"  {line}" for line in as_lines(choices))]
    header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    write_atomically(path, header + yaml.safe_dump(content, sort_keys=False, width=120))


def plan(options: PlanOptions) -> None:
    """Write the experiment and the table of videos; print what is found and chosen.

    Raises:
        UserError: the folder holds too little, or something that the options name is not there.
    """
    start = start_from(options.weights) if options.weights else None
    if start and options.schemes:
        raise UserError(f"--weights {options.weights}: are of {start.model}, which is the scheme; leave --scheme out")
    found = find_videos(options.root)
    notes = [f"{len(found.videos)} videos of {len(found.class_names)} classes in {options.root} ({found.found})"]
    if found.unused:
        notes.append("not used: " + ", ".join(f"{count} {kind}" for kind, count in sorted(found.unused.items())))
    print(notes[0], flush=True)
    videos, facts = _readable(found.videos, options.root, options.file.with_name(MANIFEST))
    videos, rare = without_rare(videos)
    notes += rare
    groups = find_groups(videos, options.group)
    videos, how = divide(videos, groups.names)
    counts = {split: sum(video.split == split for video in videos) for split in ("train", "val", "test")}
    notes.append(", ".join(f"{count} {split}" for split, count in counts.items() if count) + f": {how}")
    notes += [groups.reason, *limits(videos)]
    machine = Machine.here()
    classes = sorted({video.label for video in videos})
    pixels = _pixels([options.root / video.path for video in videos if video.split == "train"])
    choices = choose([facts[v.path] for v in videos], pixels, classes, counts["train"], machine, start)
    model, rows = "XViT", options.schemes or {"xvit": SCHEMES["xvit"]}
    if start:
        model, rows = start.model, {"finetuned": {"label": f"{start.model}, fine-tuned"}}
        choices += [Choice(f"model.{key}", value, "of the weights") for key, value in start.settings.items()]
    lengths, rows = _lengths(options, choices, model, rows, counts, len(classes), machine)
    choices += lengths
    if options.equal == "compute":
        epochs = ", ".join(f"{name} {row['set']['trainer.max_epochs']}" for name, row in rows.items())
        notes.append(f"as many multiply-adds for each scheme: epochs {epochs}")
    print(*notes[1:], *as_lines(choices), sep="\n", flush=True)
    write_videos(options.file.with_name(VIDEOS), videos, groups.names)
    write_experiment(options, model, choices, rows, notes, counts["val"] > 0)
    print(f"wrote {options.file} and {options.file.with_name(VIDEOS)}", flush=True)


def _pixels(paths: Sequence[Path]) -> tuple[float, float]:
    """Mean and standard deviation of the first frames of some videos."""
    pixels = np.concatenate([decode(path, [0]).ravel() / 255 for path in paths[:: max(1, len(paths) // SEEN)]])
    return float(pixels.mean()), float(pixels.std())


def _readable(videos: Sequence[OwnVideo], root: Path, manifest: Path) -> tuple[list[OwnVideo], dict[str, VideoInfo]]:
    """The videos that can be read, and what is known of them; names the others."""
    rows = scan({video.path: (root / video.path, None) for video in videos}, manifest).facts()
    broken = [row for row in rows.values() if not row.sound]
    for row in broken[:SHOWN]:
        print(f"left out: {row.path}: {row.reason}")
    if len(broken) > SHOWN:
        print(f"left out: {len(broken) - SHOWN} more, see {manifest}")
    good = [video for video in videos if rows[video.path].sound]
    if not good:
        raise UserError(f"{root}: none of its {len(videos)} videos can be read; see {manifest}")
    return good, {path: row for path, row in rows.items() if row.sound}


def _lengths(
    options: PlanOptions,
    choices: list[Choice],
    model: str,
    rows: Rows,
    counts: Mapping[str, int],
    classes: int,
    machine: Machine,
) -> tuple[list[Choice], Rows]:
    """Equal epochs or equal compute for all rows, so much that the slowest one has the time that is given.

    Returns:
        The length of the training (of the most expensive row), and the rows, which have lengths of their own where
        compute is equal.
    """
    settings = nested(choices)
    data, nets = settings["data"], {}
    for name, row in rows.items():
        own = {key.removeprefix("model."): value for key, value in row.get("set", {}).items()}
        nets[name] = built(str(own.pop("model", model)), settings["model"] | own, data, classes)
    rates = {name: clips_per_second(net, data) for name, net in nets.items()}
    minutes = options.minutes or MINUTES["GPU" if machine.gpu else "CPU"]
    if options.equal == "epochs":
        return length(min(rates.values()), counts["train"], minutes, counts["val"] > 0), rows
    costs = {name: count(net, data["frames"], data["image_size"])[1] for name, net in nets.items()}
    slowest = min(rates[name] * costs[name] for name in rows) / max(costs.values())  # clips/s at the highest cost
    lengths = length(slowest, counts["train"], minutes, counts["val"] > 0)
    own_lengths = of_equal_compute(nested(lengths)["trainer"]["max_epochs"], costs)
    return lengths, {name: row | {"set": row.get("set", {}) | own_lengths[name]} for name, row in rows.items()}
