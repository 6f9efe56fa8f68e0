"""What a test can decide, said before anything is trained."""

import math
from collections import Counter
from collections.abc import Sequence

from lit_video.own_videos.finding import OwnVideo

FEW_TRAINING = 10  # videos of a class


def limits(videos: Sequence[OwnVideo]) -> list[str]:
    """Lines on what is too little to learn from, or to tell models apart.

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
            lines.append(f"no video of {_named(absent)} {what}: too few, or too few recordings")
    few = sorted(name for name, count in counts["train"].items() if count < FEW_TRAINING)
    if few:
        lines.append(f"fewer than {FEW_TRAINING} videos train {_named(few)}: little to learn from")
    return lines


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
