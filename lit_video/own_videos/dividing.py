"""Splits of videos into training, validation and test, grouped by recording."""

import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo, labels_of, splits_of
from lit_video.utils.text import natural, plural

# columns of a table that may name groups, in the order in which they are tried
COLUMNS = ("group", "recording", "source", "session", "scene", "subject", "speaker", "person", "participant", "actor")
# names of published data sets and of cameras that split a recording: what names a recording, in parentheses
FORMS = {
    "UCF101": r"v_.+_(g\d{2})_c\d{2}",
    "KTH": r"(person\d{2})_.+_d\d.*",
    "NTU RGB+D": r"S\d{3}C\d{3}(P\d{3})R\d{3}A\d{3}.*",
    "Kinetics": r"(.{11})_\d{6}_\d{6}",
    "a GoPro's chapters": r"(?:G[HXPL]\d{2}|GOPR)(\d{4})",
}
_WORDS = "person|subject|subj|actor|speaker|participant|session|scene|rec|g|s|p"
_MARKED = re.compile(rf"(?:^|(?<=[_\-. ]))(?:{_WORDS})\d{{1,4}}(?![^_\-. ])", re.I)
_COUNTED = "clip|part|seg|segment|shot|take|c|v"
_COUNTER = re.compile(rf"(?:^|[_\-. ]+)(?:{_COUNTED}|{_WORDS})?[_\-. ]*(?:\d+|\(\d+\))$", re.I)
_DATE = r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)"
_CLOCK = r"([0-2]\d|(?<!\d)\d(?=[-_.:h]))[-_.:h]?([0-5]\d)[-_.:m]?([0-5]\d)(?:[-_.\s]?([ap])\.?m\b)?"
_TIME = re.compile(_DATE + r"(?:[-_. T,]| at )*" + _CLOCK, re.I)
# words that phones, cameras and messengers put before a counter or a date
_CAMERA = re.compile(
    r"(?:img|e|vid|pxl|mvi|mov|mah|dsc[nf]?|gopr|g[hpxs]?|dji|sam|p|c|wa|whatsapp|signal|telegram|video|movie|clip|file"
    r"|screen|recording|record|capture|rec|untitled|trim|copy|edit|at|lv|tl|hdr|final)?\d*",
    re.I,
)
GAP = 5 * 60  # seconds between two recordings, by the times in file names, from which a new group begins
LEAST = 3  # least number of videos, and of groups, of a class: one each for training, validation and test
LEAST_OF_FOLDS = 2  # least number of groups of a class in cross-validation
Indices = NDArray[np.intp]  # indices of videos


class Groups(NamedTuple):
    """Group name of each video (``None`` if every video is a group of its own), and an explanation for the user."""

    names: Sequence[str] | None
    reason: str


def find_groups(videos: Sequence[OwnVideo], wanted: str | None = None, least: int = LEAST) -> Groups:
    """Group the videos by a column of their table or by their file names.

    ``wanted`` is a column, ``none``, or ``None`` for the first grouping with at least ``least`` groups in every class.
    """
    if wanted == "none":
        return Groups(None, "Every video stands for itself (--group none).")
    signs: Iterable[Sign] = _signs(videos)
    if wanted:
        signs = [Sign(_cells(videos, wanted), f"by the column {wanted}")]
        if not all(_cells(videos, wanted)):
            there = ", ".join(videos[0].columns) or "there is no table"
            raise UserError(f"--group {wanted}: no such column, or an empty cell in it; columns: {there}")
    few = ""
    for names, sign, is_guess, is_likely in signs:
        if not all(names):
            continue
        count, pairs = len(set(names)), {*zip(labels_of(videos), names, strict=True)}
        rare = [*_fewer([label for label, _ in pairs], least)]
        if rare and wanted:
            raise UserError(f"--group {wanted}: class {rare[0]!r} has fewer than {least} groups, too few for a test")
        if not rare and (wanted or count < len(videos)):
            together = f"{sign}: {count} groups ({min(names)!r}, ...)."
            if is_guess:
                together += " If that is wrong, name the recordings in a table's column and give --group COLUMN."
            kept = "Videos are kept together" if is_guess else "Videos recorded together stay together"
            return Groups(names, f"{few}{kept}, {together}")
        if rare and is_likely and not few:
            few = f"Videos recorded together are not kept together: class {rare[0]!r} has fewer than {least} groups "
            few += f"{sign}. So the model is tested on recordings that it knows, and its accuracy will look too high. "
    unknown = "Neither a column nor every file name says which videos were recorded together. If some were, accuracy "
    return Groups(None, few or f"{unknown}will look too high: name them in a table's column and give --group COLUMN.")


def refuse_contradictions(videos: Sequence[OwnVideo], contents: Sequence[str]) -> None:
    """Refuse equal files in two classes, or in training and another given split.

    ``contents`` has a name for the content of each video that has a copy, else an empty text.
    """
    first: dict[str, OwnVideo] = {}
    classes, splits = list[str](), list[str]()
    for video, content in zip(videos, contents, strict=True):
        other = first.setdefault(content, video) if content else video
        if other.label != video.label:
            classes.append(f"{video.path} is {other.path}")
        elif other.split != video.split:
            splits.append(f"{video.path} is {other.path}")
    if classes:
        counts = f"{plural(len(classes), 'file')} in two classes, by content ({classes[0]})"
        raise UserError(f"{counts}; keep each in the class that it shows")
    if splits:
        counts = f"{plural(len(splits), 'file')} in two splits, by content ({splits[0]})"
        raise UserError(f"{counts}; the test would be of videos that were learned: keep each in one split")


def with_copies(groups: Groups, contents: Sequence[str]) -> Groups:
    """Join the groups of equal files, so that no copy of a training video is tested; say how many there are."""
    names = [*groups.names] if groups.names else [f"video {i}" for i in range(len(contents))]
    joined: dict[str, str] = {}
    of_content: dict[str, str] = {}
    for name, content in zip(names, contents, strict=True):
        if not content:
            continue
        one, other = _joined(joined, name), _joined(joined, of_content.setdefault(content, name))
        if one != other:
            joined[one] = other
    number = sum(map(bool, contents)) - len(of_content)
    if not number:
        return groups
    said = f" {plural(number, 'video')} with the bytes of another stay with it."
    return Groups([_joined(joined, name) for name in names], groups.reason + said)


def _joined(joined: Mapping[str, str], name: str) -> str:
    while name in joined:
        name = joined[name]
    return name


class Sign(NamedTuple):
    """Group name of each video (empty if unknown), how it is known, and how sure that is."""

    names: Sequence[str]
    how: str
    is_guess: bool = False
    is_likely: bool = True  # worth a warning if there are too few groups to keep


def _signs(videos: Sequence[OwnVideo]) -> Iterator[Sign]:
    """Yield signs of videos that were recorded together, most certain first."""
    for column in COLUMNS:
        yield Sign(_cells(videos, column), f"by the column {column}")
    stems = [video.path.rpartition("/")[2].rpartition(".")[0] for video in videos]
    labels = labels_of(videos)
    if len({*stems}) == len(stems):  # otherwise numbers begin again in every folder
        for form, pattern in FORMS.items():
            found = [re.fullmatch(pattern, stem) for stem in stems]
            yield Sign([match[1] if match else "" for match in found], f"by the form of their file names ({form})")
    marked = _marked(stems, labels)
    part = f"a guess by a part of their file names such as {min(marked, default='')}"
    yield Sign(marked, part, is_guess=True, is_likely=False)
    times = f"a guess by the times in their file names (less than {GAP // 60} minutes apart)"
    yield Sign(_by_time(stems), times, is_guess=True)
    starts = [*map(_start, stems, labels)]
    yield Sign(starts, "a guess by the start of their file names", is_guess=True, is_likely=False)


def _marked(stems: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the part of each name that may name a recording, such as s01; empty if the rest names more of them.

    In ``ID_s10_e20`` and ``ID_p2`` it is a second or a part, and the rest names the recording.
    """
    marked = ["_".join(_MARKED.findall(stem)) for stem in stems]
    rests = {_start(_MARKED.sub("", stem), label) for stem, label in zip(stems, labels, strict=True)}
    if len(rests) > len({*marked}):
        return [""] * len(stems)
    return marked


def _cells(videos: Sequence[OwnVideo], column: str) -> list[str]:
    return [video.columns.get(column, "") for video in videos]


def _by_time(stems: Sequence[str]) -> list[str]:
    """Return when each video's series of recordings began, by file names; empty for a name without a time."""
    times = [*map(_time, stems)]
    first = last = datetime.min
    names: dict[datetime | None, str] = {None: ""}
    for time in sorted(filter(None, {*times})):
        if (time - last).total_seconds() >= GAP:
            first = time
        names[time], last = str(first), time
    return [names[time] for time in times]


def _time(stem: str) -> datetime | None:
    found = _TIME.search(stem)
    if not found:
        return None
    try:
        *numbers, half = found.groups()
        time = datetime(*map(int, numbers))  # type: ignore[arg-type]
        if half:
            time = time.replace(hour=time.hour % 12 + 12 * (half in "pP"))
        return time
    except ValueError:  # such as month 13
        return None


def _start(stem: str, label: str) -> str:
    """Remove label, date and counter from a file's name; return an empty name if only a camera's words are left."""
    words = [word for word in re.split(r"[_\-. ]+", re.sub(_DATE, "", stem)) if word.lower() != label.lower()]
    start = _COUNTER.sub("", "_".join(filter(None, words)))
    return "" if all(map(_CAMERA.fullmatch, start.split("_"))) and not start[:1].isdigit() else start


def _fewer(labels: Iterable[str], least: int) -> dict[str, int]:
    """Count the labels that occur fewer than ``least`` times, sorted."""
    return {label: count for label, count in sorted(Counter(labels).items()) if count < least}


PARTS = 5  # a fifth for the test, a fifth of the rest for validation; or 5 folds
FEW, PARTS_OF_FEW = 150, 3  # with fewer than FEW videos: a third for the test, no validation
FEW_FOR_FOLDS = 300  # with fewer videos finetune cross-validates
FOLD = "fold"  # beginning of a fold's name, before its number
TRIES = 50
ENOUGH = 0.02  # mean unevenness per part and class at which the search ends, see _unevenness


def folds(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Assign each video its test fold (``fold1``, ...) as split, keeping groups whole; also return a description."""
    divided, sizes = [*videos], list[str]()
    for number, part in enumerate(_parts(videos, groups, PARTS, np.arange(len(videos))), 1):
        sizes.append(str(len(part)))
        for i in part:
            divided[i] = replace(videos[i], split=f"{FOLD}{number}")
    how = f"Few videos, so {len(sizes)}-fold cross-validation: groups of {', '.join(sizes)}; "
    how += "each is tested by a model trained on the others, and the model to keep is trained on all."
    return divided, how


def fold_names(splits: Iterable[str | None]) -> list[str]:
    """Return the folds among the splits of videos, sorted."""
    return sorted({split for split in splits if split and split.startswith(FOLD)})


def held_out(videos: Sequence[OwnVideo]) -> set[str]:
    """Return the splits that the user gave, except ``train``; empty if none are given."""
    given = set(filter(None, splits_of(videos)))
    if given and "train" not in given:
        raise UserError(f"all videos are of the split {' or '.join(sorted(given))}; give training videos too")
    return given - {"train"}


def divide(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Assign each video a split; also return a description.

    Given splits are kept, but without a test split the given validation videos become the test. Missing splits are
    taken from the training videos. No video is in both validation and test.
    """
    given, labels = held_out(videos), np.array(labels_of(videos))
    splits = np.array([video.split or "train" for video in videos])

    def take(split: str, parts: int = PARTS) -> None:
        """Divide the training videos into ``parts`` and move one part to another split."""
        splits[_parts(videos, groups, parts, np.flatnonzero(splits == "train"))[0]] = split

    how = "as given"
    if not given and len(videos) < FEW:
        take("test", PARTS_OF_FEW)
        how = "chosen at random; too few to choose between checkpoints, so the last one is tested"
    elif not given:
        take("test")
        take("val")
        how = "chosen at random"
    elif len(given) == 1:
        splits[splits == "val"] = "test"
        take("val")
        test = "test" if "test" in given else "validation"
        how = f"the given {test} videos are tested; some training videos choose the checkpoint"
    absent = np.setdiff1d(labels, labels[splits == "train"]).tolist()
    if absent:
        name = min(absent, key=natural)
        split = splits[labels == name][-1]
        of_it = f"class {name!r} has {split} videos, but none to train ({len(absent)} such classes)"
        raise UserError(f"{of_it}; give it training videos, or take its {split} videos out")
    divided = [replace(video, split=split) for video, split in zip(videos, splits.tolist(), strict=True)]
    counts = Counter(splits_of(divided))
    choose = f", {counts['val']} to choose the best checkpoint (validation)" if counts["val"] else ""
    return divided, f"{counts['train']} videos to train{choose}, {counts['test']} to test: {how}."


def without_rare(videos: Sequence[OwnVideo]) -> tuple[list[OwnVideo], list[str]]:
    """Leave out classes with too few videos; return the other videos, and a line per class that is left out."""
    labels = labels_of(videos)
    rare = _fewer(labels, LEAST)
    if (left := len({*labels}) - len(rare)) < 2:
        few = ", ".join(f"{name} has {count}" for name, count in [*rare.items()][:5])
        needs = f"{LEAST} videos or more, to train, to validate and to test"
        raise UserError(f"{left} classes have {needs} ({few}); add videos")
    lines = [f"left out: class {name!r}, {count} of the {LEAST} videos that it needs" for name, count in rare.items()]
    return [video for video in videos if video.label not in rare], lines


def _parts(videos: Sequence[OwnVideo], groups: Sequence[str] | None, wanted: int, among: Indices) -> list[Indices]:
    """Divide the videos with indices ``among`` into at most ``wanted`` parts; return the parts, most even first."""
    labels, own = np.array(labels_of(videos))[among], np.arange(len(among)).astype(str)
    if groups:
        own = np.array(groups)[among]
    largest = np.unique(labels, return_counts=True)[1].max()
    if largest < 2:
        raise UserError("every class has one video to train and to validate; add videos to train/")
    parts = max(2, min(wanted, len({*own}), largest))
    best, least = list[Indices](), np.inf
    for seed in range(TRIES):
        found, uneven = list[Indices](), list[float]()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about classes with fewer videos than parts; _unevenness penalises those
            division = StratifiedGroupKFold(parts, shuffle=True, random_state=seed).split(labels, labels, own)
            for _, part in division:
                found.append(among[part])
                uneven.append(_unevenness(labels, part, parts))
        off = sum(sorted(uneven))
        if off < least:
            best, least = [found[i] for i in np.argsort(uneven, kind="stable")], off
        if least <= ENOUGH * parts * len({*labels}):
            break
    return best


def _unevenness(labels: NDArray[np.str_], part: Indices, wanted: int) -> float:
    """Return the sum over classes of |share in the part - 1 / wanted|; 10 for a class with a share of 0 or 1."""
    counts, there = Counter(labels.tolist()), Counter(labels[part].tolist())
    shares = np.array([there[name] / count for name, count in counts.items()])
    off = np.where(np.isin(shares, (0.0, 1.0)), 10.0, abs(shares - 1 / wanted))
    return float(sum(off.tolist()))


def limits(videos: Sequence[OwnVideo]) -> list[str]:
    """Describe the limits of a test on these videos.

    By chance alone, two models of 50 % accuracy that disagree on half of the videos differ by the printed points or
    more in one of twenty cases (normal approximation of McNemar's test).
    """
    counts = defaultdict[str | None, Counter[str]](Counter)
    for video in videos:
        counts[video.split][video.label] += 1
    in_test = counts.get("test") or Counter(labels_of(videos))  # cross-validation tests all videos
    tested = sum(in_test.values())
    points = 100 * 1.96 * math.sqrt(0.5 / tested)
    name, most = in_test.most_common(1)[0]
    lines = [
        f"With {tested} test videos, two models must differ by {points:.0f} points before that is more than chance.",
        f"Baseline: always answering {name!r} gives {100 * most / tested:.0f} %.",
    ]
    for split, what in (("val", "to choose the checkpoint"), ("test", "to test")):
        if split in counts and (absent := sorted(counts["train"].keys() - counts[split].keys())):
            lines.append(f"No video of {', '.join(absent)} {what}: too few videos, or too few recordings.")
    if "test" not in counts:
        for name in sorted(in_test):
            if sum(name in of_fold for of_fold in counts.values()) == 1:
                lines.append(f"All videos of {name} are in one fold: the model tested on them never saw this class.")
    return lines
