"""Splits videos into training, validation and test, grouped by recording."""

import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo

# columns of a table that say so, the first that is there
COLUMNS = ("group", "recording", "source", "session", "scene", "subject", "speaker", "person", "participant", "actor")
_WORDS = "person|subject|subj|actor|speaker|participant|session|scene|rec|g|s|p"
_MARKED = re.compile(rf"(?:^|(?<=[_\-. ]))(?:{_WORDS})\d+(?![^_\-. ])", re.I)
_COUNTER = re.compile(r"(?:^|[_\-. ]+)(?:clip|part|seg|segment|shot|take|c|v)?[_\-]?\d+$", re.I)
LEAST = 3  # videos of a class, and its groups: one each to train, to validate, to test
LEAST_OF_FOLDS = 2  # groups of a class where each is tested once


class Groups(NamedTuple):
    """The name of each video's group, ``None`` where every video stands for itself, and the reason for the user."""

    names: Sequence[str] | None
    reason: str


def find_groups(videos: Sequence[OwnVideo], wanted: str | None = None, least: int = LEAST) -> Groups:
    """The groups that a table's column or the files' names tell.

    Args:
        videos: videos of the folder.
        wanted: a column, ``none``, or ``None`` for the first sign that leaves every class enough groups.
        least: groups that a class needs.

    Raises:
        UserError: there is no such column, or a class has too few groups of it.
    """
    if wanted == "none":
        return Groups(None, "every video stands for itself (--group none)")
    if wanted is not None:
        return _of_column(videos, wanted, least)
    few = ""
    for column in COLUMNS:
        names = [video.columns.get(column, "") for video in videos]
        if all(names) and not (rare := _rare(videos, names, least)):
            return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")
        if all(names):
            rare_one = f"class {rare[0]!r} has fewer than {least} of it"
            few = f"the column {column} is not used, as {rare_one}, and the test is flattered; "
    for starts, sign in ((_marked(videos), "a part such as s01"), (_without_counters(videos), "their start")):
        if starts and not _rare(videos, starts, least) and len(set(starts)) < len(videos):
            count, example = len(set(starts)), min(starts)
            reason = f"the files' names say which belong together, by {sign} ({count} of them: {example!r}, ...)"
            return Groups(starts, few + reason)
    unknown = (
        few + "no column or part of the names says which were recorded together; if some were, give --group COLUMN"
    )
    paths = [video.path for video in videos]
    if len(set(paths)) == len(videos):
        return Groups(None, unknown)
    if not _rare(videos, paths, least):
        return Groups(paths, f"parts of one file belong together ({len(set(paths))} files); of files, {unknown}")
    files = f"a class is in fewer than {least} files"
    return Groups(
        None, f"{files}: parts of one file are both trained and tested on, which flatters the test; {unknown}"
    )


def _of_column(videos: Sequence[OwnVideo], column: str, least: int) -> Groups:
    if any(not video.columns.get(column) for video in videos):
        there = ", ".join(videos[0].columns) or "there is no table"
        raise UserError(f"--group {column}: no such column, or an empty cell in it; columns: {there}")
    names = [video.columns[column] for video in videos]
    if rare := _rare(videos, names, least):
        raise UserError(f"--group {column}: class {rare[0]!r} has fewer than {least} of them, to train and to test")
    return Groups(names, f"the column {column} says which belong together ({len(set(names))} of them)")


def _rare(videos: Sequence[OwnVideo], names: Sequence[str], least: int) -> list[str]:
    """Classes that have fewer groups than needed."""
    by_class: dict[str, set[str]] = defaultdict(set)
    for video, name in zip(videos, names, strict=True):
        by_class[video.label].add(name)
    return [label for label, groups in by_class.items() if len(groups) < least]


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


PARTS = 5  # a fifth is tested on, a fifth of the rest validates; or each fifth is tested on in turn
FEW, PARTS_OF_FEW = 150, 3  # of fewer videos a third is tested on, and none validates: a handful would choose by chance
FEW_FOR_FOLDS = 300  # of fewer videos each is tested on in turn
FOLD = "fold"  # and a number
TRIES = 50
ENOUGH = 0.02  # of a class's share


def folds(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Give every video the fold that it is tested in, ``fold1`` and on, as its split, and say how; groups are whole.

    Args:
        videos: videos of the folder, without splits.
        groups: group of each video; ``None`` where every video stands for itself.
    """
    labels = np.array([video.label for video in videos])
    best, least = np.zeros(len(videos), np.int64), np.inf
    for numbers in _divisions(labels, groups or [str(i) for i in range(len(videos))], PARTS):
        parts = numbers.max() + 1
        off = sum(_unevenness(labels, numbers == number, parts) for number in range(parts))
        if off < least:
            best, least = numbers, off
        if least <= ENOUGH * parts * len(set(labels)):
            break
    how = f"so few videos that each is tested once, in one of {best.max() + 1} folds, by a model of the others"
    return [replace(video, split=f"{FOLD}{number + 1}") for video, number in zip(videos, best, strict=True)], how


def fold_names(splits: Iterable[str | None]) -> list[str]:
    """Folds among the splits of videos, in their order; none of videos that are divided otherwise."""
    return sorted({split for split in splits if split and split.startswith(FOLD)})


def divide(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Give every video a split, and say how.

    A split that the folder gives is kept; what it leaves out is taken from its training videos.

    Args:
        videos: videos of the folder.
        groups: group of each video; ``None`` where every video stands for itself.
    """
    own = groups or [str(i) for i in range(len(videos))]
    given = {video.split for video in videos} - {None}
    splits = [video.split or "train" for video in videos]
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


def _take(videos: Sequence[OwnVideo], groups: Sequence[str], splits: list[str], split: str, parts: int = PARTS) -> None:
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
    best, least = np.zeros(len(videos), bool), np.inf
    for numbers in _divisions(labels, groups, wanted):
        for number in range(numbers.max() + 1):
            if (off := _unevenness(labels, numbers == number, wanted)) < least:
                best, least = numbers == number, off
        if least <= ENOUGH * len(set(labels)):
            break
    return best


def _divisions(labels: NDArray[np.str_], groups: Sequence[str], wanted: int) -> Iterator[NDArray[np.int64]]:
    """Divisions into at most ``wanted`` parts: the number of each video's, from 0."""
    parts = max(2, min(wanted, len(set(groups)), np.unique(labels, return_counts=True)[1].max()))
    for seed in range(TRIES):
        numbers = np.zeros(len(labels), np.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of classes with fewer videos than parts, which _unevenness weighs
            split = StratifiedGroupKFold(parts, shuffle=True, random_state=seed).split(labels, labels, groups)
            for number, (_, chosen) in enumerate(split):
                numbers[chosen] = number
        yield numbers


def _unevenness(labels: NDArray[np.str_], part: NDArray[np.bool_], wanted: int) -> float:
    """Sum over classes of how far their share is from one of ``wanted``; all of a class, or none, counts for ten."""
    shares = [float(part[labels == name].mean()) for name in np.unique(labels)]
    return sum(10.0 if share in (0.0, 1.0) else abs(share - 1 / wanted) for share in shares)


def limits(videos: Sequence[OwnVideo]) -> list[str]:
    """Say what so few test videos cannot tell apart.

    Two models of half right, which disagree on half of the videos, differ by the points named in one of twenty cases
    by chance alone (normal approximation of McNemar's test).
    """
    counts = {split: Counter(v.label for v in videos if v.split == split) for split in {v.split for v in videos}}
    in_test = counts["test"] if "test" in counts else Counter(video.label for video in videos)  # or in folds
    tested = sum(in_test.values())
    points = 100 * 1.96 * math.sqrt(0.5 / tested)
    name, most = in_test.most_common(1)[0]
    lines = [
        f"{tested} test videos: differences under {points:.0f} points decide nothing",
        f"always {name!r} would be right in {100 * most / tested:.0f} % of the test",
    ]
    for split, what in (("val", "validates"), ("test", "is tested")):
        if split in counts and (absent := sorted(counts["train"].keys() - counts[split].keys())):
            lines.append(f"no video of {', '.join(absent)} {what}: too few, or too few recordings")
    if "test" not in counts:
        unseen = [name for name, n in sorted(in_test.items()) if n in [count[name] for count in counts.values()]]
        lines += [f"all videos of {name} are in one fold, so never seen before their test" for name in unseen]
    return lines
