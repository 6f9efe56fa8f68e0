"""From a folder of videos to an experiment: inspect, divide, measure, choose, write, and print every step."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lit_video.datamodules.manifest import MANIFEST, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.errors import UserError
from lit_video.own_videos.budget import ENOUGH, FEWEST, built, clips_per_second, length, probed
from lit_video.own_videos.choices import (
    STILLS,
    Choice,
    Machine,
    Start,
    as_lines,
    choose,
    crop_less,
    main_lines,
    nested,
    sizes,
)
from lit_video.own_videos.dividing import (
    FEW_FOR_FOLDS,
    LEAST,
    LEAST_OF_FOLDS,
    divide,
    find_groups,
    fold_names,
    folds,
    held_out,
    limits,
    without_rare,
)
from lit_video.own_videos.finding import OwnVideo, OwnVideos
from lit_video.own_videos.schemes import SCHEMES, Rows
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text import escaped, plural, printable
from lit_video.video.decoding import decode

VIDEOS = "_videos.csv"  # follows the experiment's name
SHOWN = 5  # unreadable videos that are named
KINDS = 10  # kinds of unused files that are named
SEEN = 50  # videos for the mean and deviation of pixels
MINUTES = {"CPU": 10.0, "GPU": 30.0}
ALL = "all"  # the row that trains on all folds


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan."""

    place: Path  # folder or table of the videos
    file: Path  # path of the experiment's YAML
    command: str  # command line, written into the file
    schemes: Rows | None = None  # rows by name; None for the scheme of the weights, or X-ViT
    start: Start | None = None  # weights to start from; None to start from scratch
    minutes: float | None = None  # minutes of training per run; None for the machine's default
    group: str | None = None  # column that names groups, none, or None to look for one
    folds: bool = False  # True to cross-validate if there are few videos
    frozen: bool | None = None  # True to freeze a start's backbone; None: only on a CPU


def _write_experiment(
    options: PlanOptions,
    root: Path,
    model: str,
    choices: Sequence[Choice],
    rows: Rows,
    notes: Sequence[str],
    splits: Collection[str | None],
    columns: Collection[str],
) -> None:
    """Write the experiment's YAML file, with every choice and its reason on top."""
    path, settings = options.file, nested(choices)
    start = settings["model"].get("image_weights", "scratch")
    began = "" if options.folds else f", all schemes from {'drawn pictures' if start == STILLS else start}"
    data = {
        "root": str(root.resolve()),
        "train": str(path.with_name(path.stem + VIDEOS).resolve()),
        "columns": list(columns),
        "split_column": "split",
        "train_values": ["train"] if "train" in splits else fold_names(splits),
        "val_values": ["val"] if "val" in splits else [],
        **({"test_values": ["test"]} if "test" in splits else {}),
        **settings["data"],
    }
    content = {
        "trainer": {"accelerator": "auto", "devices": 1} | settings["trainer"],
        "data": {"class_path": "VideoCSV", "init_args": data},
        "model": {"class_path": model, "init_args": settings["model"]},
        "table": {
            "title": f"Videos of {options.place.resolve().name}{began}",
            "source": str(options.place.resolve()),
            "scale": "own",
            "metric": "test/video_top1",
            "rows": rows,
        },
    }
    lines = [
        f"Made by {options.command}",
        f"Run by  lit_video fit {shlex.join(['--config', str(path), '--runs', str(path.parent / 'runs')])}",
    ]
    lines += ["", *notes, "", "Choices, and why:", *(f"  {line}" for line in as_lines(choices))]
    header = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    write_atomically(path, escaped(header) + yaml.safe_dump(content, sort_keys=False, width=120))


def plan(found: OwnVideos, options: PlanOptions) -> None:
    """Write the experiment and the table of videos; print what is found and chosen.

    Raises:
        UserError: there are too few videos, or the options name a group column that is missing.
    """
    start = options.start
    notes = [f"{len(found.videos)} videos of {len(found.class_names)} classes in {options.place} ({found.found})"]
    if found.unused:
        kinds = [f"{count} {kind}" for kind, count in sorted(found.unused.items())]
        more = [f"{len(kinds) - KINDS} other kinds of files"] if len(kinds) > KINDS else []
        notes.append("not used: " + ", ".join(kinds[:KINDS] + more))
    print(notes[0], flush=True)
    looked_at = {video.path: (found.root / video.path, None) for video in found.videos}
    manifest = scan(looked_at, options.file.with_name(MANIFEST)).facts()
    videos, rare = without_rare(_readable(found.videos, manifest, found.root))
    notes += rare
    few = options.folds and len(videos) < FEW_FOR_FOLDS and not held_out(videos)
    groups = find_groups(videos, options.group, LEAST_OF_FOLDS if few else LEAST)
    videos, how = (folds if few else divide)(videos, groups.names)
    counts = Counter(video.split for video in videos)
    notes += [how, groups.reason, *limits(videos)]
    print(*notes[1:], "Measuring how fast this machine trains ...", sep="\n", flush=True)
    machine = Machine.here()
    if few and not machine.gpu:  # folds train side by side
        side_by_side = min(len(counts) + 1, machine.cores)
        machine = replace(machine, memory=machine.memory / side_by_side, cores=machine.cores // side_by_side)
    classes = replace(found, videos=videos).class_names
    training = len(videos) - max(counts.values()) if few else counts["train"]
    pixels = None if few else _pixels([found.root / video.path for video in videos if video.split == "train"])
    facts = [manifest[video.path] for video in videos]
    decoded = 3e-9 * sum((each.frames or 0) * (each.width or 0) * (each.height or 0) for each in facts)
    model, rows = "XViT", options.schemes or {"xvit": SCHEMES["xvit"]}
    if start and not options.schemes:
        model, rows = start.model, {"finetuned": {"label": f"{start.model}, fine-tuned"}}
    # every video trains in all folds but its own, and in the model trained on all
    parts = len(fold_names(counts))
    epoch = parts * len(videos) if parts else counts["train"]
    minutes = options.minutes or MINUTES["GPU" if machine.gpu else "CPU"]
    frozen = list[Choice]()
    if start and not start.sides and (not machine.gpu if options.frozen is None else options.frozen):
        start, frozen = probed(start, len(videos), epoch, minutes, len(classes))
        rows = {"probed": {"label": f"{start.model}, frozen, with a probe"}}
        folder = str(options.file.resolve().with_name("features"))
        frozen += [Choice("data.features", folder, "float16, shared by all rows")]
    choices, lengths = list[Choice](), list[Choice]()
    left = sizes(facts, training, machine, start)
    while left:
        size = left.pop(0)
        larger = choose(facts, decoded, pixels, classes, training, machine, start, size) + frozen
        rate = _speed(larger, model, rows, len(classes))
        found_lengths = length(rate, epoch, minutes, counts["val"] > 0, parts + 1)
        if start and start.sides and not (choices or start.given) and found_lengths[0].value <= FEWEST:
            clips = f"even with clips of {size[0]} frames x {size[1]} pixels"
            why = f"in {plural(minutes, 'minute')} too few epochs fit, {clips}"
            print(f"{start.weights}: {why}. All schemes start from scratch. More time: --minutes N", flush=True)
            start, left = None, sizes(facts, training, machine, None)
            continue
        if choices and found_lengths[0].value < ENOUGH:
            break
        choices, lengths = larger, found_lengths
    choices = (choices if start or lengths[0].value >= ENOUGH else crop_less(choices)) + lengths
    rows = _fold_rows(rows, fold_names(counts)) if few else rows
    print("Chosen for these videos and this machine:", *map("  {}".format, main_lines(choices)), sep="\n", flush=True)
    table = options.file.with_name(options.file.stem + VIDEOS)
    columns = _write_videos(table, videos, groups.names)
    _write_experiment(options, found.root, model, choices, rows, notes, counts, columns)
    print(f"wrote {options.file} (all settings, with reasons) and {table}", flush=True)


def _write_videos(file: Path, videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> list[str]:
    """Write the table of videos with their splits; return its columns."""
    columns: dict[str, Any] = {name: [getattr(video, name) for video in videos] for name in ("path", "label", "split")}
    columns |= {"group": groups}
    columns = {name: each for name, each in columns.items() if each and set(each) != {None}}
    write_table(file, [[*columns], *zip(*columns.values(), strict=True)])
    return [*columns]


def _pixels(paths: Sequence[Path]) -> tuple[float, float]:
    """Return mean and standard deviation of some videos' first frames."""
    pixels = np.concatenate([decode(path, [0]).ravel() / 255 for path in paths[:: max(1, len(paths) // SEEN)]])
    return float(pixels.mean()), float(pixels.std())


def _fold_rows(rows: Rows, names: list[str]) -> Rows:
    """Return a row trained on all folds, and for each fold a row tested on it and trained on the others."""
    (row,) = rows.values()
    label, own = row["label"], row.get("set", {})
    tested = {"label": f"{label}, all videos; accuracy of the folds", "set": own | {"data.train_values": names}}
    return {ALL: tested} | {
        name: {
            "label": f"{label}, tested on {name}",
            "set": own | {"data.train_values": [n for n in names if n != name], "data.test_values": [name]},
        }
        for name in names
    }


def _readable(videos: Sequence[OwnVideo], rows: Mapping[str, VideoInfo], root: Path) -> list[OwnVideo]:
    """Return the readable videos; print the others."""
    good, broken = list[OwnVideo](), list[str]()
    for video in videos:
        row = rows[video.path]
        if row.status == "ok":
            good.append(video)
        else:
            broken.append(f"{video.path}: cannot be read ({row.reason})")
    for line in broken[:SHOWN]:
        print(printable(f"left out: {line}"))
    if len(broken) > SHOWN:
        print(f"left out: {len(broken) - SHOWN} more, see {MANIFEST}")
    if not good:
        raise UserError(f"{root}: none of its {len(videos)} videos can be read ({broken[0]})")
    return good


def _speed(choices: Sequence[Choice], model: str, rows: Rows, classes: int) -> float:
    settings, rates = nested(choices), []
    for row in rows.values():
        own = {key.removeprefix("model."): value for key, value in row.get("set", {}).items()}
        net = built(str(own.pop("model", model)), settings["model"] | own, settings["data"], classes)
        rates.append(clips_per_second(net, settings["data"], "features" in settings["data"]))
    return min(rates)
