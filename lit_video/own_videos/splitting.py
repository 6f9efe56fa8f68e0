"""Videos divided to train, to validate and to test: classes in equal shares, and what belongs together together."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from lit_video.datamodules.base import Split
from lit_video.errors import UserError
from lit_video.own_videos.finding import OwnVideo
from lit_video.own_videos.groups import LEAST

PARTS = 5  # a fifth is tested on, a fifth of the rest validates
FEW, PARTS_OF_FEW = 150, 3  # of fewer videos a third is tested on, and none validates: a handful would choose by chance
TRIES = 50
ENOUGH = 0.02  # of a class's share


def divide(videos: Sequence[OwnVideo], groups: Sequence[str] | None) -> tuple[list[OwnVideo], str]:
    """Give every video a split, and say how.

    A split that the folder gives is kept; what it leaves out is taken from its training videos.

    Args:
        videos: of the folder.
        groups: of each; ``None`` where every video stands for itself.
    """
    own = groups or [str(i) for i in range(len(videos))]
    given = {video.split for video in videos} - {None}
    if not given and len(videos) < FEW:
        tested = _share(videos, own, PARTS_OF_FEW)
        how = "divided here; so few videos that a third is tested on, and that none choose a checkpoint"
        return _with(videos, ["test" if one else "train" for one in tested]), how
    if not given:
        tested = _share(videos, own)
        rest = [i for i in range(len(videos)) if not tested[i]]
        validates = _share([videos[i] for i in rest], [own[i] for i in rest])
        splits: list[Split] = ["test" if one else "train" for one in tested]
        for i, one in zip(rest, validates, strict=True):
            splits[i] = "val" if one else "train"
        return _with(videos, splits), "divided here"
    splits = [video.split or "train" for video in videos]
    if "test" not in given:
        splits = ["test" if split == "val" else split for split in splits]
    if "val" in given and "test" in given:
        return _with(videos, splits), "divided as given"
    train = [i for i, split in enumerate(splits) if split == "train"]
    for i, one in zip(train, _share([videos[i] for i in train], [own[i] for i in train]), strict=True):
        splits[i] = "val" if one else "train"
    test = "test" if "test" in given else "validation"
    return _with(videos, splits), f"tested on the {test} videos given, validated on some of the training videos"


def _with(videos: Sequence[OwnVideo], splits: Sequence[Split]) -> list[OwnVideo]:
    return [replace(video, split=split) for video, split in zip(videos, splits, strict=True)]


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
