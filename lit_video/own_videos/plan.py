"""From a folder of videos to a plan: look into them, divide them, and choose settings that fit the user's minutes."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lit_video.datamodules.manifest import MANIFEST, scan
from lit_video.datamodules.probe import VideoInfo
from lit_video.engine.step_times import Pace
from lit_video.errors import UserError
from lit_video.own_videos import choices, dividing, groups
from lit_video.own_videos.budget import GRADIENT_CLIP
from lit_video.own_videos.choices import STILLS, Choice, nested
from lit_video.own_videos.dividing import limits
from lit_video.own_videos.finding import OwnVideo, OwnVideos, found_in_words, splits_of, write_videos
from lit_video.own_videos.first_answer import FirstAnswer, first_answer
from lit_video.own_videos.schemes import TableRows
from lit_video.own_videos.sizing import Chosen, Workload, choose_settings
from lit_video.own_videos.starts import SCRATCH, Start
from lit_video.utils.text import plural, printable
from lit_video.video.decoding import decode
from lit_video.video.trained_on import copies

_logger = logging.getLogger(__name__)

UNREADABLE_NAMED = 5  # most unreadable videos that are named
MOST_OVER = 5.0  # minutes by which a plan may be longer than the user's
BEHIND = 1.2  # share of a video's length behind which most segments do not end, if they are in seconds
SEEN = 50  # approximate number of videos that give the mean and deviation of pixels
ALL = "all"  # the row that trains on all folds
DRAWN = {STILLS: "drawn pictures"}  # weights -> name in a title


@dataclass(frozen=True)
class PlanOptions:
    """Options of a plan."""

    place: Path  # folder or table of the videos
    rehearse: Callable[..., Pace]  # :func:`lit_video.training.rehearsal.rehearse`
    folder: Path  # folder of the experiment, which gets the manifest and the features of a frozen backbone
    schemes: TableRows  # rows by name; empty for one row, the model of ``start``
    start: Start = SCRATCH  # weights to start from
    minutes: float | None = None  # minutes of training per run; None for the machine's default
    group: str | None = None  # column that names groups; "none" for no groups; None to look for groups
    folds: bool = False  # True to cross-validate if there are few videos
    mirror: bool | None = None  # whether to mirror half of the training clips; None to decide by the classes
    frozen: bool | None = None  # whether to freeze the backbone of ``start``; None for the machine's default
    answers: bool = False  # whether the first answer may be the model


@dataclass(frozen=True)
class Inspected:
    """Readable videos of the classes that have enough of them."""

    root: Path
    videos: Sequence[OwnVideo]
    manifest: Mapping[str, VideoInfo]  # facts of every video by path, also of those that are left out
    left_out: Sequence[str]  # a line for each video that cannot be read, or their number
    notes: Sequence[str]  # classes that are left out, and videos with gaps in time

    @property
    def facts(self) -> list[VideoInfo]:
        """Facts of the videos and segments, in their order; a segment's are a part of its file's."""
        facts: list[VideoInfo] = []
        for video in self.videos:
            info = self.manifest[video.path]
            if video.is_part and info.seconds:
                end = info.seconds if video.end is None else min(video.end, info.seconds)
                seconds = end - (video.start or 0.0)
                info = replace(info, seconds=seconds, frames=max(1, round(seconds * (info.fps or 0.0))))
            facts.append(info)
        return facts


@dataclass(frozen=True)
class Division:
    """Videos with their splits or folds."""

    videos: Sequence[OwnVideo]
    draw_names: Sequence[str] | None  # draw of each video, see groups.Groups
    is_folded: bool  # cross-validated
    notes: Sequence[str]  # how they are divided, and what a test on them can show

    @property
    def counts(self) -> Counter[str | None]:
        """Number of videos by split."""
        return Counter(splits_of(self.videos))

    @property
    def trainings(self) -> list[int]:
        """Number of training videos of each run; in cross-validation of each fold's, and of one on all videos."""
        if not self.is_folded:
            return [self.counts["train"]]
        return [len(self.videos), *(len(self.videos) - count for count in self.counts.values())]

    @property
    def tested(self) -> int:
        """Number of test videos, summed over runs; without a test split these are the validation videos."""
        if self.is_folded:
            return len(self.videos)
        return self.counts["test"] or self.counts["val"]


@dataclass(frozen=True)
class Plan:
    """The user's videos with their splits, and all settings that were chosen for them."""

    place: Path  # folder or table of the videos
    root: Path  # folder of the videos' paths
    title: str
    model: str  # name of the model's class
    videos: Sequence[OwnVideo]  # each has its split
    draw_names: Sequence[str] | None  # draw of each video, see groups.Groups
    rows: TableRows  # rows of the experiment's table
    chosen: Sequence[Choice]  # every setting with its reason
    notes: Sequence[str]  # lines on the videos, and on their division
    duration: str  # how long the trainings take, in words
    seconds: float  # duration of the trainings
    answer: FirstAnswer | None = None  # a training must be right more often; None if it is asked for, or the model


def plan(own: OwnVideos, options: PlanOptions) -> Plan:
    """Plan an experiment on the user's videos, and log each step when it is done."""
    what_is_there = found_in_words(own, options.place)
    inspected = inspect(own, options.folder / MANIFEST)
    for line in inspected.left_out:
        _logger.info(line)

    divided = divide(inspected, group=options.group, folds=options.folds)
    notes = [*what_is_there, *inspected.notes, *divided.notes]
    for line in notes[1:]:
        _logger.info(line)
    answer = first_answer(inspected.root, divided.videos, divided.draw_names)
    if answer:
        _logger.info(str(answer))

    _logger.info("Measuring how fast this machine trains ...")
    chosen = choose_settings(_task(inspected, divided, options), options.start)
    refuse_much_longer(chosen, options.minutes)
    lines = [f"  {line}" for line in choices.main_lines(chosen.choices)]
    for line in ["Chosen for these videos and this machine:", *lines, chosen.duration]:
        _logger.info(line)

    title = f"Videos of {options.place.resolve().name}"
    if not options.folds:
        start = nested(chosen.choices)["model"].get("image_weights", "scratch")
        title += f", all schemes from {DRAWN.get(start, start)}"

    rows = chosen.rows
    if divided.is_folded:
        rows = _fold_rows(rows, dividing.fold_names(divided.counts))
    return Plan(
        place=options.place,
        root=inspected.root,
        title=title,
        model=chosen.start.model,
        videos=divided.videos,
        draw_names=divided.draw_names,
        rows=rows,
        chosen=chosen.choices,
        notes=notes,
        duration=chosen.duration,
        seconds=chosen.seconds,
        answer=answer if options.answers and not chosen.start.is_regression else None,
    )


def refuse_much_longer(chosen: Chosen, minutes: float | None) -> None:
    """Refuse minutes that the user gave if the shortest training takes much longer: it is not started unasked.

    Less than a minute asks for the shortest training, however long it takes.
    """
    needed = chosen.seconds / 60
    if minutes is None or minutes < 1 or needed < minutes + MOST_OVER:
        return
    fewest = f"the shortest training that tells anything takes about {math.ceil(needed)} minutes here"
    raise UserError(f"--minutes {minutes:g}: {fewest}; give --minutes {math.ceil(needed)}, or fewer or shorter videos")


def inspect(own: OwnVideos, manifest: Path) -> Inspected:
    """Look into every video and write the manifest; leave out videos that cannot be read, and rare classes.

    Raises:
        UserError: no video can be read, or fewer than two classes have enough videos.
    """
    facts = scan({video.path: (own.root / video.path, None) for video in own.videos}, manifest).facts()
    readable, left_out = _readable(own, facts)
    videos, rare = dividing.without_rare(readable)
    return Inspected(own.root, videos, facts, left_out, [*rare, *_with_gaps(videos, facts)])


def _readable(own: OwnVideos, facts: Mapping[str, VideoInfo]) -> tuple[list[OwnVideo], list[str]]:
    """Return the readable videos, and lines on the others."""
    _refuse_other_units(own, facts)
    good, broken = list[OwnVideo](), list[str]()
    for video in own.videos:
        row = facts[video.path]
        if row.status != "ok":
            broken.append(f"{video.path}: cannot be read ({row.reason})")
        elif row.seconds and (video.start or 0.0) >= row.seconds:
            broken.append(f"{video.name}: begins behind the video's end, at {row.seconds:g} s")
        else:
            good.append(video)
    if not good:
        raise UserError(f"{own.root}: none of its {len(own.videos)} videos can be read ({broken[0]})")

    lines = [printable(f"left out: {line}") for line in broken[:UNREADABLE_NAMED]]
    if len(broken) > UNREADABLE_NAMED:
        lines.append(f"left out: {len(broken) - UNREADABLE_NAMED} more, see {MANIFEST}")
    return good, lines


def _refuse_other_units(own: OwnVideos, facts: Mapping[str, VideoInfo]) -> None:
    """Refuse segments of which most end far behind their videos' ends, because they are counted in something else."""
    parts = [video for video in own.videos if video.is_part and facts[video.path].seconds]
    behind: list[OwnVideo] = []
    for video in parts:
        last = max(video.start or 0.0, video.end or 0.0)
        if last > BEHIND * float(facts[video.path].seconds or 0.0):
            behind.append(video)
    if 2 * len(behind) > len(parts):
        first = behind[0]
        count = f"{len(behind)} of {len(parts)} segments end behind their videos' ends"
        example = f"{first.name} lasts {facts[first.path].seconds:g} s"
        raise UserError(f"{count} ({example}); are they in frames or milliseconds? write start and end in seconds")


def _with_gaps(videos: Sequence[OwnVideo], facts: Mapping[str, VideoInfo]) -> list[str]:
    """Say how many videos have gaps in time, and name one."""
    with_gaps = [video.path for video in videos if facts[video.path].gap]
    if not with_gaps:
        return []
    example = f"{with_gaps[0]}: {facts[with_gaps[0]].gap}"
    return [printable(f"{plural(len(with_gaps), 'video')} with gaps in time, used as they are ({example})")]


def divide(inspected: Inspected, *, group: str | None, folds: bool) -> Division:
    """Divide the videos into splits, or few videos into folds; keep groups and copies together.

    Raises:
        UserError: there is no such column, equal files are in two classes or two given splits, or segments are
            tested whose videos train.
    """
    videos = inspected.videos
    own_folds = dividing.fold_names(splits_of(videos))
    if own_folds and not folds:
        advice = "give --split none to divide at random, or write train and test into its cells"
        raise UserError(f"the table has {len(own_folds)} folds, which only finetune tests; {advice}")
    is_folded = folds and (bool(own_folds) or (len(videos) < dividing.FEW_FOR_FOLDS and not dividing.held_out(videos)))
    least = groups.LEAST_OF_FOLDS if is_folded else groups.LEAST
    split = dividing.folds if is_folded else dividing.assign_splits

    same = copies(str(inspected.root / video.path) for video in videos)
    contents = [same.get(str(inspected.root / video.path), "") for video in videos]
    groups.refuse_equal_files(videos, contents)

    if group != "none":
        groups.refuse_segments_of_learned_videos(videos)

    recorded = groups.with_copies(groups.find_groups(videos, group, least), contents)
    if group != "none":
        recorded = groups.with_segments(recorded, videos, least)
    divided, how = split(videos, recorded.names)
    notes = [how, groups.explanation(recorded, divided), *limits(divided, recorded.draws)]
    return Division(divided, recorded.draws, is_folded, notes)


def _task(inspected: Inspected, divided: Division, options: PlanOptions) -> Workload:
    """Return the facts on videos and wishes from which settings are chosen."""
    return Workload(
        facts=inspected.facts,
        classes=OwnVideos(divided.videos, "", inspected.root).class_names,
        pixels=_pixels(inspected.root, divided.videos),
        trainings=divided.trainings,
        validated=0 if divided.is_folded else divided.counts["val"],
        tested=divided.tested,
        rows=options.schemes,
        minutes=options.minutes,
        frozen=options.frozen,
        answers=options.answers,
        mirror=options.mirror,
        features=options.folder.resolve() / "features",
        rehearse=partial(_rehearsed, inspected.root.resolve(), divided, options),
    )


def _rehearsed(
    root: Path,
    divided: Division,
    options: PlanOptions,
    start: Start,
    groups: Mapping[str, Mapping[str, Any]],
    row: Mapping[str, Any],
    at_once: int,
) -> Pace:
    """Rehearse a row of a start with settings by group on a few of the videos, two batches of them."""
    few = few_of_every_class(divided.videos, 2 * groups["data"]["batch_size"])
    with TemporaryDirectory() as folder:
        table = Path(folder) / "videos.csv"
        columns = write_videos(table, few)
        trainer = {"accelerator": "auto", "devices": 1, "gradient_clip_val": GRADIENT_CLIP}
        data = {"root": str(root), "train": str(table), "val": str(table), "columns": columns, "label_separator": ""}
        settings = {
            "trainer": {**trainer, **groups["trainer"]},
            "data": {"class_path": "VideoCSV", "init_args": {**data, **groups["data"]}},
            "model": {"class_path": start.model, "init_args": dict(groups["model"])},
        }
        # logistic regressions are made in this process, as the start of another takes longer
        is_alone = start.is_regression or not (divided.is_folded or len(options.schemes) > 1)
        return options.rehearse(settings, row.get("set", {}), at_once=at_once, alone=is_alone)


def few_of_every_class(videos: Sequence[OwnVideo], count: int) -> list[OwnVideo]:
    """Return at most ``count`` videos: the first of each class, then some at equal distances."""
    first_of_class = {video.label: video for video in reversed(videos)}
    spread = [videos[number * len(videos) // count] for number in range(count)]
    by_name = {video.name: video for video in (*first_of_class.values(), *spread, *videos)}
    return [*by_name.values()][:count]


def _pixels(root: Path, videos: Sequence[OwnVideo]) -> tuple[float, float] | None:
    """Return mean and deviation of pixels in the training videos' first frames; ``None`` without training videos."""
    paths = [root / path for path in dict.fromkeys(video.path for video in videos if video.split == "train")]
    if not paths:
        return None
    pixels = np.concatenate([decode(path, [0]).ravel() / 255 for path in paths[:: max(1, len(paths) // SEEN)]])
    return float(pixels.mean()), float(pixels.std())


def _fold_rows(rows: TableRows, names: list[str]) -> TableRows:
    """Return a row trained on all folds, and for each fold a row tested on it and trained on the others."""
    (row,) = rows.values()
    label = row["label"]
    own = row.get("set", {})
    of_folds = {
        ALL: {"label": f"{label}, all videos; accuracy of the folds", "set": own | {"data.train_values": names}}
    }
    for name in names:
        others = [other for other in names if other != name]
        settings = own | {"data.train_values": others, "data.test_values": [name]}
        of_folds[name] = {"label": f"{label}, tested on {name}", "set": settings}
    return of_folds
