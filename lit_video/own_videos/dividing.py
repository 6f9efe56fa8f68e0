"""Splits of videos, which keep groups whole: training, validation and a test, and what so small a test cannot show."""

import logging
import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo, labels_of, rare_labels, splits_of
from lit_video.own_videos.groups import LEAST
from lit_video.utils.columns import FOLD_NAME
from lit_video.utils.text import natural

_logger = logging.getLogger(__name__)

Indices = NDArray[np.intp]  # indices of videos

PARTS = 5  # folds; else a fifth of the videos is for the test, and a fifth of the rest for validation
FEW_TO_DIVIDE = 150  # number of videos; of fewer, a third is for the test, and none for validation
PARTS_OF_FEW = 3
FEW_FOR_FOLDS = 300  # number of videos; finetune cross-validates fewer
FEW_TO_TRAIN = FEW_FOR_FOLDS * (PARTS - 1) // PARTS  # number of training videos; of fewer all train, as in a fold
ONE_GROUP = "all that train are one group, so none choose between checkpoints, and the last one is tested"
TRIES = 50
GROUPS_TRIED = 12_000  # groups that are divided in all tries together, at 4,000 a second; more are tried once
MISSING = 10.0  # unevenness of a part without a class, or with all of it
ROUNDING = 1e-9
EVEN_ENOUGH = 0.02  # unevenness per part and class that ends the search for an even division, see _unevenness


def folds(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Return the videos with their test fold (``fold1``, ...) as split, and a description; keep groups whole."""
    own_folds = fold_names(splits_of(videos))
    if own_folds:
        counts = Counter(splits_of(videos))
        how = f"Cross-validation by the {len(own_folds)} folds of the table, of "
        how += f"{', '.join(str(counts[name]) for name in own_folds)} videos; "
        return [*videos], how + "each is tested by a model trained on the others, and the model to keep on all."

    parts = _parts(videos, groups, PARTS, among=np.arange(len(videos)))
    divided = [*videos]
    for number, part in enumerate(parts, 1):
        for index in part:
            divided[index] = replace(videos[index], split=f"{FOLD_NAME}{number}")

    sizes = [str(len(part)) for part in parts]
    how = f"Few videos, so {len(sizes)}-fold cross-validation: groups of {', '.join(sizes)}; "
    how += "each is tested by a model trained on the others, and the model to keep is trained on all."
    return divided, how


def fold_names(splits: Iterable[str | None]) -> list[str]:
    """Return the folds among the splits of videos, sorted."""
    return sorted({split for split in splits if split and split.startswith(FOLD_NAME)}, key=natural)


def held_out(videos: Sequence[OwnVideo]) -> set[str]:
    """Return the splits that the user gave, except ``train``; empty if none are given."""
    splits = {split for split in splits_of(videos) if split}
    if splits and "train" not in splits:
        raise UserError(f"all videos are of the split {' or '.join(sorted(splits))}; give training videos too")
    return splits - {"train"}


def assign_splits(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Return the videos with their splits, and a description.

    Splits that the user gave are kept, with one exception: if there is no test split, the validation videos become the
    test. Missing splits are taken from the training videos. No video is in both validation and test.
    """
    given_splits = held_out(videos)
    splits = np.array([video.split or "train" for video in videos])

    def take(split: str, parts: int = PARTS) -> None:
        """Divide the training videos into ``parts`` and move one part to another split."""
        training = np.flatnonzero(splits == "train")
        most_even, *_ = _parts(videos, groups, parts, among=training)
        splits[most_even] = split

    def take_val() -> str:
        """Take the videos that choose the checkpoint; return why there are none, as an addition to a line."""
        if groups is not None and len({*np.array(groups)[splits == "train"]}) == 1:
            return f"; {ONE_GROUP}"
        take("val")
        return ""

    how = "as given"
    if not given_splits and len(videos) < FEW_TO_DIVIDE:
        take("test", PARTS_OF_FEW)
        how = "chosen at random; too few to choose between checkpoints, so the last one is tested"
    elif not given_splits:
        take("test")
        how = "chosen at random" + take_val()
    elif len(given_splits) == 1:
        splits[splits == "val"] = "test"
        test = "test" if "test" in given_splits else "validation"
        how = f"the given {test} videos are tested"
        if np.count_nonzero(splits == "train") < FEW_TO_TRAIN:
            how += "; too few train to choose between checkpoints, so the last one is tested"
        else:
            how += take_val() or "; some training videos choose the checkpoint"

    divided = [replace(video, split=split) for video, split in zip(videos, splits.tolist(), strict=True)]
    _refuse_untrained(divided)
    counts = Counter(splits_of(divided))
    to_choose = ""
    if counts["val"]:
        to_choose = f", {counts['val']} to choose the best checkpoint (validation)"
    return divided, f"{counts['train']} videos to train{to_choose}, {counts['test']} to test: {how}."


def _refuse_untrained(videos: Sequence[OwnVideo]) -> None:
    """Refuse a class without training videos."""
    trained = {video.label for video in videos if video.split == "train"}
    untrained = {*labels_of(videos)} - trained
    if not untrained:
        return

    name = min(untrained, key=natural)
    *_, split = (video.split for video in videos if video.label == name)
    fault = f"class {name!r} has {split} videos, but none to train ({len(untrained)} such classes)"
    raise UserError(f"{fault}; give it training videos, or take its {split} videos out")


def without_rare(videos: Sequence[OwnVideo]) -> tuple[list[OwnVideo], list[str]]:
    """Leave out classes with too few videos; return the other videos, and a line per class that is left out."""
    labels = labels_of(videos)
    rare = rare_labels(labels, LEAST)
    sufficient = len({*labels}) - len(rare)
    if sufficient < 2:
        few = ", ".join(f"{name} has {count}" for name, count in [*rare.items()][:5])
        enough = {0: "no class has", 1: "only one class has"}[sufficient]
        needs = f"{LEAST} videos or more (some train, some are kept for the test)"
        raise UserError(
            f"{enough} {needs}: {few or 'there is no other'}; give two classes at least {LEAST} videos each"
        )

    lines = [f"left out: class {name!r}, {count} of the {LEAST} videos that it needs" for name, count in rare.items()]
    return [video for video in videos if video.label not in rare], lines


def _parts(videos: Sequence[OwnVideo], groups: Sequence[str] | None, most: int, *, among: Indices) -> list[Indices]:
    """Divide the videos with the indices ``among`` into at most ``most`` parts, and return the most even part first."""
    labels = np.array(labels_of(videos))[among]
    own_groups = np.arange(len(among)).astype(str)
    if groups:
        own_groups = np.array(groups)[among]

    largest_class = np.unique(labels, return_counts=True)[1].max()
    if largest_class < 2:
        raise UserError("every class has one video to train and to validate; add videos to train/")
    if len({*own_groups}) < 2:
        raise UserError("all videos are one group, recorded together or copies, and cannot be divided; add others")
    number = max(2, min(most, len({*own_groups}), largest_class))

    numbers = _numbered(labels)
    if len({*own_groups}) == len(among):
        # dealt at random, class by class in turn, so that a class's parts differ by one video at most
        shuffled = np.random.default_rng(0).permutation(len(numbers))
        by_class = shuffled[np.argsort(numbers[shuffled], kind="stable")]
        dealt = [by_class[part::number] for part in range(number)]
        uneven = [_unevenness(numbers, part, number) for part in dealt]
        return [among[dealt[index]] for index in np.argsort(uneven, kind="stable")]

    divided = _divided
    if len({*own_groups}) > GROUPS_TRIED // TRIES:
        divided = _divided_large
    best: list[Indices] = []
    least = np.inf
    bound = _least_unevenness(numbers, number)
    tries = max(1, min(TRIES, GROUPS_TRIED // len({*own_groups})))
    if len({*own_groups}) > GROUPS_TRIED:
        _logger.info(f"Dividing {len(among):,} videos of {len({*own_groups}):,} groups, for up to a minute ...")
    for seed in range(tries):
        parts = divided(labels, own_groups, number, seed=seed)
        uneven = [_unevenness(numbers, part, number) for part in parts]
        total = sum(sorted(uneven))
        if total < least:
            best = [among[parts[index]] for index in np.argsort(uneven, kind="stable")]
            least = total
        if least <= max(EVEN_ENOUGH * number * len({*labels}), bound):
            break
    return best


def _numbered(labels: NDArray[np.str_]) -> Indices:
    """Return each label's number, in the order in which labels come first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _divided(labels: NDArray[np.str_], groups: NDArray[np.str_], parts: int, *, seed: int) -> list[Indices]:
    """Divide videos into parts at random, keeping groups whole and classes as even as the groups allow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer videos than parts; _unevenness penalises those
        division = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
        return [part for _, part in division.split(labels, labels, groups)]


def _divided_large(labels: NDArray[np.str_], groups: NDArray[np.str_], parts: int, *, seed: int) -> list[Indices]:
    """Divide videos likewise; those that are groups of their own come last, each where its class is missing most."""
    _, inverse, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    joined = np.flatnonzero(sizes[inverse] > 1)
    if len({*groups[joined]}) < parts:
        joined = np.arange(0)
    divided: list[list[int]] = [[] for _ in range(parts)]
    if len(joined):
        of_joined = _divided(labels[joined], groups[joined], parts, seed=seed)
        divided = [joined[part].tolist() for part in of_joined]

    numbers = _numbered(labels)
    counts = np.zeros((parts, numbers.max() + 1), int)
    for part, videos in enumerate(divided):
        np.add.at(counts[part], numbers[videos], 1)
    totals = counts.sum(axis=1)
    others = np.setdiff1d(np.arange(len(labels)), joined)
    of_group: dict[str, int] = {}  # part of a group of several videos that were too few to be divided first
    for video in np.random.default_rng(seed).permutation(others).tolist():
        label = numbers[video]
        lacks_most = int((counts[:, label] * len(labels) + totals).argmin())
        part = of_group.setdefault(str(groups[video]), lacks_most)
        counts[part, label] += 1
        totals[part] += 1
        divided[part].append(video)
    return [np.array(sorted(videos), np.intp) for videos in divided]


def _unevenness(labels: Indices, part: Indices, parts: int) -> float:
    """Return how uneven one of ``parts`` parts is, by class: the sum of |share of the class - 1 / parts|.

    A class that is missing in the part, or is in this part alone, counts as 10. ``labels``: see :func:`_numbered`.
    """
    counts = np.bincount(labels)
    shares = np.bincount(labels[part], minlength=len(counts)) / counts
    return float(sum(_off(shares, parts).tolist()))


def _off(shares: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Return how far each class's share is from an equal one, see :func:`_unevenness`."""
    return np.where(np.isin(shares, (0.0, 1.0)), MISSING, abs(shares - 1 / parts))


def _least_unevenness(labels: Indices, parts: int) -> float:
    """Return the least sum of the unevenness of all parts that the sizes of the classes allow, without groups."""
    counts = np.bincount(labels)
    larger = counts % parts
    least = 0.0
    for extra in (0, 1):
        number_of_parts = larger if extra else parts - larger
        shares = (counts // parts + extra) / counts
        least += float((number_of_parts * _off(shares, parts)).sum())
    return least + ROUNDING


def limits(videos: Sequence[OwnVideo], draws: Sequence[str] | None = None) -> list[str]:
    """Describe what a test on these videos cannot show; ``draws``: draw of each video.

    Two models of 50 % accuracy that disagree on half of the videos differ by the printed number of points in one of
    twenty tests by chance alone (normal approximation of McNemar's test).
    """
    counts: dict[str | None, Counter[str]] = defaultdict(Counter)
    for video in videos:
        counts[video.split][video.label] += 1
    tested = counts.get("test") or Counter(labels_of(videos))  # cross-validation tests all videos
    number = sum(tested.values())
    ((name, most),) = tested.most_common(1)
    tested_draws: set[str] = set()
    for video, draw in zip(videos, draws or (), strict=False):
        if video.split == "test" or "test" not in counts:
            tested_draws.add(draw)

    lines = [
        _chance(number, tested_draws),
        f"Baseline: always answering {name!r} gives {100 * most / number:.0f} %.",
    ]
    for split, purpose in (("val", "to choose the checkpoint"), ("test", "to test")):
        absent: list[str] = []
        if split in counts:
            absent = sorted(counts["train"].keys() - counts[split].keys())
        if absent:
            lines.append(f"No video of {', '.join(absent)} {purpose}: too few videos, or too few recordings.")
    if "test" in counts:
        return lines

    for name in sorted(tested):
        folds_with_it = sum(name in counts_of_fold for counts_of_fold in counts.values())
        if folds_with_it == 1:
            lines.append(f"All videos of {name} are in one fold: the model tested on them never saw this class.")
    return lines


def _chance(videos: int, draws: Collection[str]) -> str:
    """Say how far two models differ by chance in one of twenty tests, also if a draw's videos are answered alike."""
    points = f"{_points_by_chance(videos):.0f} points"
    if draws:
        groups = "one group" if len(draws) == 1 else f"each of {len(draws)} groups"
        points += f" ({_points_by_chance(len(draws)):.0f} if the videos of {groups} are answered alike)"
    return f"With {videos} test videos, two models that differ by less than {points} may be equally good."


def _points_by_chance(number: int) -> float:
    """Return the difference that two models reach by chance in one of twenty tests of ``number`` videos."""
    return min(100 * 1.96 * math.sqrt(0.5 / number), 100.0)
