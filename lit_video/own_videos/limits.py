"""Limits of a test: what so few videos, of these classes and groups, cannot show."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from lit_video.own_videos.finding import OwnVideo, labels_of


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
