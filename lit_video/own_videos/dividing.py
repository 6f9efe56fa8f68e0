"""Splits videos into training, validation and test, grouped by recording."""

import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo

# columns of a table that say so, the first that is there
COLUMNS = ("group", "recording", "source", "session", "scene", "subject", "speaker", "person", "participant", "actor")
_WORDS = "person|subject|subj|actor|speaker|participant|session|scene|rec|g|s|p"
_MARKED = re.compile(rf"(?:^|(?<=[_\-. ]))(?:{_WORDS})\d+(?![^_\-. ])", re.I)
_COUNTER = re.compile(r"(?:^|[_\-. ]+)(?:clip|part|seg|segment|shot|take|c|v)?[_\-]?\d+$", re.I)
LEAST = 3  # groups of a class: one each to train, to validate, to test


class Groups(NamedTuple):
    """The name of each video's group, ``None`` where every video stands for itself, and the reason for the user."""

    names: Sequence[str] | None
    reason: str


def find_groups(videos: Sequence[OwnVideo], wanted: str | None = None) -> Groups:
    """The groups that a table's column or the files' names tell.

    Args:
        videos: videos of the folder.
        wanted: a column, ``none``, or ``None`` for the first sign that leaves every class enough groups.

    Raises:
        UserError: there is no such column, or a class has too few groups of it.
    """
    if wanted == "none":
        return Groups(None, "every video stands for itself (--group none)")
    if wanted is not None:
        return _of_column(videos, wanted)
    for column in COLUMNS:
        names = [video.columns.get(column, "") for video in videos]
        if all(names) and _enough(videos, names):
            return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")
    for starts, sign in ((_marked(videos), "a part such as s01"), (_without_counters(videos), "their start")):
        if starts and _enough(videos, starts) and len(set(starts)) < len(videos):
            count, example = len(set(starts)), min(starts)
            reason = f"the files' names say which belong together, by {sign} ({count} of them: {example!r}, ...)"
            return Groups(starts, reason)
    unknown = "no column or part of the names says which were recorded together; if some were, give --group COLUMN"
    paths = [video.path for video in videos]
    if len(set(paths)) == len(videos):
        return Groups(None, unknown)
    if _enough(videos, paths):
        return Groups(paths, f"parts of one file belong together ({len(set(paths))} files); of files, {unknown}")
    few = f"a class is in fewer than {LEAST} files"
    return Groups(None, f"{few}: parts of one file are both trained and tested on, which flatters the test; {unknown}")


def _of_column(videos: Sequence[OwnVideo], column: str) -> Groups:
    if any(not video.columns.get(column) for video in videos):
        there = ", ".join(videos[0].columns) or "there is no table"
        raise UserError(f"--group {column}: no such column, or an empty cell in it; columns: {there}")
    names = [video.columns[column] for video in videos]
    if not _enough(videos, names):
        raise UserError(f"--group {column}: a class has fewer than {LEAST} of them: to train, to validate and to test")
    return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")


def _enough(videos: Sequence[OwnVideo], names: Sequence[str]) -> bool:
    """Whether every class has groups for all splits."""
    by_class: dict[str, set[str]] = defaultdict(set)
    for video, name in zip(videos, names, strict=True):
        by_class[video.label].add(name)
    return all(len(groups) >= LEAST for groups in by_class.values())


def _marked(videos: Sequence[OwnVideo]) -> list[str] | None:
    """Find the parts of each name that are a word for a person or a recording with a number."""
    parts = [_MARKED.findall(_stem(video)) for video in videos]
    return ["_".join(part) for part in parts] if all(parts) else None


def _without_counters(videos: Sequence[OwnVideo]) -> list[str] | None:
    """Cut each name before its last number, the class left out."""
    starts = []
    for video in videos:
        words = re.split(r"[_\-. ]+", _stem(video))
        stem = "_".join(word for word in words if word.lower() != video.label.lower())
        starts.append(_COUNTER.sub("", stem))
    return starts if all(starts) else None


def _stem(video: OwnVideo) -> str:
    return video.path.rpartition("/")[2].rpartition(".")[0]


PARTS = 5  # a fifth is tested on, a fifth of the rest validates
FEW, PARTS_OF_FEW = 150, 3  # of fewer videos a third is tested on, and none validates: a handful would choose by chance
TRIES = 50
ENOUGH = 0.02  # of a class's share


def divide(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Give every video a split, and say how.

    A split that the folder gives is kept; what it leaves out is taken from its training videos.

    Args:
        videos: videos of the folder.
        groups: group of each video; ``None`` where every video stands for itself.
    """
    own = groups or [str(i) for i in range(len(videos))]
    given = {video.split for video in videos} - {None}
    splits: list[Split] = [video.split or "train" for video in videos]
    how = "divided as given"
    if not given and len(videos) < FEW:
        _take(videos, own, splits, "test", PARTS_OF_FEW)
        how = "divided here; so few videos that a third is tested on, and that none choose a checkpoint"
    elif not given:
        _take(videos, own, splits, "test")
        _take(videos, own, splits, "val")
        how = "divided here"
    elif not {"val", "test"} <= given:
        if "test" not in given:
            splits = ["test" if split == "val" else split for split in splits]
        _take(videos, own, splits, "val")
        test = "test" if "test" in given else "validation"
        how = f"tested on the {test} videos given, validated on some of the training videos"
    return [replace(video, split=split) for video, split in zip(videos, splits, strict=True)], how


def _take(
    videos: Sequence[OwnVideo], groups: Sequence[str], splits: list[Split], split: Split, parts: int = PARTS
) -> None:
    """Give one of ``parts`` of the training videos another split."""
    train = [i for i, one in enumerate(splits) if one == "train"]
    for i, chosen in zip(train, _share([videos[i] for i in train], [groups[i] for i in train], parts), strict=True):
        splits[i] = split if chosen else "train"


def without_rare(videos: Sequence[OwnVideo]) -> tuple[list[OwnVideo], list[str]]:
    """The videos without those of classes that have too few to train, validate and test; lines on what is left out.

    Raises:
        UserError: fewer than two classes are left.
    """
    counts = Counter(video.label for video in videos)
    rare = {name: count for name, count in sorted(counts.items()) if count < LEAST}
    if (left := len(counts) - len(rare)) < 2:
        few = ", ".join(f"{name} has {count}" for name, count in list(rare.items())[:5])
        raise UserError(
            f"{left} classes have {LEAST} videos or more, to train, to validate and to test ({few}); add videos"
        )
    lines = [f"left out: class {name!r}, {count} of the {LEAST} videos that it needs" for name, count in rare.items()]
    return [video for video in videos if video.label not in rare], lines


def _share(videos: Sequence[OwnVideo], groups: Sequence[str], wanted: int = PARTS) -> NDArray[np.bool_]:
    """Which videos are of one of ``wanted`` parts; of some divisions the one whose classes are nearest to even."""
    labels = np.array([video.label for video in videos])
    names, counts = np.unique(labels, return_counts=True)
    parts = max(2, min(wanted, len(set(groups)), counts.max()))
    best, least = np.zeros(len(videos), bool), np.inf
    for seed in range(TRIES):
        folds = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer videos than parts, which _unevenness weighs
            for _, chosen in folds.split(labels, labels, groups):
                part = np.zeros(len(videos), bool)
                part[chosen] = True
                if (off := _unevenness(labels, names, part, wanted)) < least:
                    best, least = part, off
        if least <= ENOUGH * len(names):
            break
    return best


def _unevenness(labels: NDArray[np.str_], names: NDArray[np.str_], part: NDArray[np.bool_], wanted: int) -> float:
    """Sum over classes of how far their share is from one of ``wanted``; all of a class, or none, counts for ten."""
    shares = [float(part[labels == name].mean()) for name in names]
    return sum(10.0 if share in (0.0, 1.0) else abs(share - 1 / wanted) for share in shares)


def limits(videos: Sequence[OwnVideo]) -> list[str]:
    """Say what so few test videos cannot tell apart.

    Two models of half right, which disagree on half of the videos, differ by the points named in one of twenty cases
    by chance alone (normal approximation of McNemar's test).
    """
    counts = {split: Counter(v.label for v in videos if v.split == split) for split in ("train", "val", "test")}
    tested = sum(counts["test"].values())
    points = 100 * 1.96 * math.sqrt(0.5 / tested)
    name, most = counts["test"].most_common(1)[0]
    lines = [
        f"{tested} test videos: differences under {points:.0f} points decide nothing",
        f"always {name!r} would be right in {100 * most / tested:.0f} % of the test",
    ]
    for split in ("val", "test"):
        if counts[split] and (absent := sorted(counts["train"].keys() - counts[split].keys())):
            what = "validates" if split == "val" else "is tested"
            lines.append(f"no video of {', '.join(absent)} {what}: too few, or too few recordings")
    return lines
