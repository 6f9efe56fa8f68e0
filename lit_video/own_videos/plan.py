"""From a folder of videos to an experiment: inspect, divide, measure, choose, write, and print every step."""

import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent

import numpy as np
import yaml

from lit_video.datamodules.manifest import MANIFEST, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.errors import UserError
from lit_video.own_videos import choices, dividing
from lit_video.own_videos.budget import ENOUGH, FEWEST, built, clips_per_second, duration, length, probed
from lit_video.own_videos.choices import STILLS, Choice, Machine, measured, nested
from lit_video.own_videos.finding import OwnVideo, OwnVideos, labels_of, splits_of
from lit_video.own_videos.schemes import Rows
from lit_video.own_videos.starts import SCRATCH, Start
from lit_video.utils.files import write_atomically, write_table
from lit_video.utils.text import case_twins, counted, plural, printable
from lit_video.video.content import copies
from lit_video.video.decoding import decode

VIDEOS = "_videos.csv"  # ending of the table of videos, after the experiment's name
SHOWN = 5  # most unreadable videos that are printed
KINDS = 10  # most kinds of unused files that are printed
SEEN = 50  # approximate number of videos that give the mean and deviation of pixels
MINUTES = {"CPU": 10.0, "GPU": 30.0}
FROZEN = {"CPU": "yes", "GPU": "no"}
ALL = "all"  # the row that trains on all folds
DRAWN = {STILLS: "drawn pictures"}  # weights -> name in a title


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan."""

    place: Path  # folder or table of the videos
    file: Path  # path of the experiment's YAML
    command: str  # command line, written into the file
    schemes: Rows  # rows by name; empty for one row, the model of ``start``
    start: Start = SCRATCH  # weights to start from
    minutes: float | None = None  # minutes of training per run; None for the machine's default
    group: str | None = None  # column that names groups; "none" for no groups; None to look for groups
    folds: bool = False  # True to cross-validate if there are few videos
    frozen: str | None = None  # "yes" to freeze the backbone of ``start``, or "no"; None for the machine's default


def _write_experiment(
    options: PlanOptions,
    root: Path,
    chosen: Sequence[Choice],
    rows: Rows,
    notes: Sequence[str],
    splits: Collection[str | None],
    columns: Collection[str],
) -> None:
    """Write the experiment's YAML file, with every choice and its reason on top."""
    path, settings = options.file, nested(chosen)
    title, start = f"Videos of {options.place.resolve().name}", settings["model"].get("image_weights", "scratch")
    if not options.folds:
        title += f", all schemes from {DRAWN.get(start, start)}"
    data = {
        "root": str(root.resolve()),
        "train": str(path.with_name(path.stem + VIDEOS).resolve()),
        "columns": list(columns),
        "split_column": "split",
        "train_values": dividing.fold_names(splits) or ["train"],
        "val_values": ["val"] if "val" in splits else [],
    }
    if "test" in splits:
        data["test_values"] = ["test"]
    table = {"title": title, "source": str(options.place.resolve()), "scale": "own", "metric": "test/video_top1"}
    content = {
        "trainer": {"accelerator": "auto", "devices": 1} | settings["trainer"],
        "data": {"class_path": "VideoCSV", "init_args": data | settings["data"]},
        "model": {"class_path": options.start.model, "init_args": settings["model"]},
        "table": table | {"rows": rows},
    }
    lines = [
        f"Made by {options.command}",
        f"Run by  lit_video fit {shlex.join(['--config', str(path), '--runs', str(path.parent / 'runs')])}",
        *("", *notes, "", "Choices, and why:", indent("\n".join(choices.as_lines(chosen)), "  ")),
    ]
    header = indent("\n".join(lines) + "\n", "# ", lambda line: True).replace("# \n", "#\n")
    comment = header.encode("utf-8", "backslashreplace").decode()  # a file name need not be UTF-8
    write_atomically(path, comment + yaml.safe_dump(content, sort_keys=False, width=120))


def plan(found: OwnVideos, options: PlanOptions) -> None:
    """Write the experiment and the table of videos; print what is found and chosen."""
    notes = _found(found, options.place)
    print(notes[0], flush=True)
    looked_at = {video.path: (found.root / video.path, None) for video in found.videos}
    manifest = scan(looked_at, options.file.with_name(MANIFEST)).facts()
    videos, rare = dividing.without_rare(_readable(found.videos, manifest, found.root))
    notes += [*rare, *_with_gaps(videos, manifest)]
    few = options.folds and len(videos) < dividing.FEW_FOR_FOLDS and not dividing.held_out(videos)
    least, split = (dividing.LEAST_OF_FOLDS, dividing.folds) if few else (dividing.LEAST, dividing.divide)
    same = copies(str(found.root / video.path) for video in videos)
    contents = [same.get(str(found.root / video.path), "") for video in videos]
    dividing.refuse_contradictions(videos, contents)
    groups = dividing.with_copies(dividing.find_groups(videos, options.group, least), contents)
    videos, how = split(videos, groups.names)
    counts = Counter(splits_of(videos))
    notes += [how, groups.reason, *dividing.limits(videos)]
    print(*notes[1:], "Measuring how fast this machine trains ...", sep="\n", flush=True)
    runs, training, epoch = 1, counts["train"], counts["train"]
    if few:  # every video trains the models of all folds but its own, and the model of all videos
        runs, training, epoch = len(counts) + 1, len(videos) - max(counts.values()), len(counts) * len(videos)
    start, machine = options.start, Machine.here().shared(runs)
    classes = replace(found, videos=videos).class_names
    pixels = _pixels(found.root, videos)
    facts = [manifest[video.path] for video in videos]
    decoded = float(3e-9 * (measured(facts, "frames") * measured(facts, "width") * measured(facts, "height")).sum())
    minutes = options.minutes or MINUTES[machine.kind]
    frozen = list[Choice]()
    if start.weights and not start.sides and (options.frozen or FROZEN[machine.kind]) == "yes":
        start, frozen = probed(start, len(videos), epoch, minutes, len(classes))
        folder = str(options.file.resolve().with_name("features"))
        frozen += [Choice("data.features", folder, "float16, shared by all rows")]
    rows = options.schemes or start.rows
    chosen, lengths, speed = list[Choice](), list[Choice](), 1.0
    left = choices.sizes(facts, training, machine, start)
    while left:
        size = left.pop(0)
        larger = choices.choose(facts, decoded, pixels, classes, training, machine, start, size) + frozen
        rate = _speed(larger, start.model, rows, len(classes))
        found_lengths = length(rate, epoch, minutes, counts["val"] > 0, runs)
        epochs = found_lengths[0].value
        if start.sides and not chosen and not start.given and epochs <= FEWEST:
            clips = f"even with clips of {size[0]} frames x {size[1]} pixels"
            why = f"in {plural(minutes, 'minute')} too few epochs fit, {clips}"
            print(f"{start.weights}: {why}. All schemes start from scratch. More time: --minutes N", flush=True)
            start, left = SCRATCH, choices.sizes(facts, training, machine, SCRATCH)
            continue
        if chosen and epochs < ENOUGH:
            break
        chosen, lengths, speed = larger, found_lengths, rate
    if not start.weights and lengths[0].value < ENOUGH:
        chosen = choices.crop_less(chosen)
    chosen += lengths
    if few:
        rows = _fold_rows(rows, dividing.fold_names(counts))
    lines = map("  {}".format, choices.main_lines(chosen))
    print("Chosen for these videos and this machine:", *lines, sep="\n", flush=True)
    print(duration(speed, epoch, lengths[0].value, minutes), flush=True)
    table = options.file.with_name(options.file.stem + VIDEOS)
    columns = _write_videos(table, videos, groups.names)
    _write_experiment(options, found.root, chosen, rows, notes, counts, columns)
    print(f"wrote {options.file} (all settings, with reasons) and {table}", flush=True)


def _found(found: OwnVideos, place: Path) -> list[str]:
    """Say what was found, and what is not used."""
    notes = [f"{len(found.videos)} videos of {len(found.class_names)} classes in {place} ({found.found})"]
    if twins := case_twins(found.class_names):
        notes.append(printable(twins))
    kinds = counted(dict(sorted(found.unused.items())))
    if len(kinds) > KINDS:
        kinds[KINDS:] = [f"{len(kinds) - KINDS} other kinds of files"]
    return [*notes, f"not used: {', '.join(kinds)}"] if kinds else notes


def _write_videos(file: Path, videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> list[str]:
    """Write the table of videos with their splits; return its columns."""
    columns = [[video.path for video in videos], labels_of(videos), splits_of(videos), *filter(None, [groups])]
    header = ["path", "label", "split", "group"][: len(columns)]
    write_table(file, [header, *zip(*columns, strict=True)])
    return header


def _pixels(root: Path, videos: Sequence[OwnVideo]) -> tuple[float, float] | None:
    """Return mean and deviation of pixels in the training videos' first frames; ``None`` without training videos."""
    paths = [root / video.path for video in videos if video.split == "train"]
    if not paths:
        return None
    pixels = np.concatenate([decode(path, [0]).ravel() / 255 for path in paths[:: max(1, len(paths) // SEEN)]])
    return float(pixels.mean()), float(pixels.std())


def _fold_rows(rows: Rows, names: list[str]) -> Rows:
    """Return a row trained on all folds, and for each fold a row tested on it and trained on the others."""
    (row,) = rows.values()
    label, own = row["label"], row.get("set", {})
    settings = own | {"data.train_values": names}
    of_folds = {ALL: {"label": f"{label}, all videos; accuracy of the folds", "set": settings}}
    for name in names:
        settings = own | {"data.train_values": [n for n in names if n != name], "data.test_values": [name]}
        of_folds[name] = {"label": f"{label}, tested on {name}", "set": settings}
    return of_folds


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


def _with_gaps(videos: Sequence[OwnVideo], rows: Mapping[str, VideoInfo]) -> list[str]:
    """Say how many videos have gaps in time, and name one."""
    with_gaps = [video.path for video in videos if rows[video.path].gap]
    if not with_gaps:
        return []
    example = f"{with_gaps[0]}: {rows[with_gaps[0]].gap}"
    return [printable(f"{plural(len(with_gaps), 'video')} with gaps in time, used as they are ({example})")]


def _speed(chosen: Sequence[Choice], model: str, rows: Rows, classes: int) -> float:
    settings, rates = nested(chosen), []
    for row in rows.values():
        net = built(model, settings["model"], settings["data"], classes, row)
        rates.append(clips_per_second(net, settings["data"], "features" in settings["data"]))
    return min(rates)
